// SPDX-License-Identifier: MIT
//
// Starts `saltus lsp` for models and rule tables.
'use strict';

const vscode = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');

let client;

function activate() {
  const command = vscode.workspace.getConfiguration('lisma').get('command', 'saltus');
  const server = { command, args: ['lsp'], transport: TransportKind.stdio };
  client = new LanguageClient('lisma', 'LISMA', server, {
    documentSelector: [
      { scheme: 'file', language: 'lisma' },
      { scheme: 'file', pattern: '**/*.rules.md' },
    ],
  });
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
