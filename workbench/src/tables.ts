// SPDX-License-Identifier: MIT
import { Editor } from "./editor";
import { Engine } from "./engine";

export class Tables {
  constructor(
    private readonly parent: HTMLElement,
    private readonly editor: Editor,
    private readonly engine: Engine,
  ) {}
  open(_path: string): void {
    void this.parent; void this.editor; void this.engine;
  }
  update(_force = false): void {}
  light(_line: number | null): void {}
}
