// SPDX-License-Identifier: MIT
//
// Relations of a model over the rows of its run: to see how near a condition came to hold. Values are those of the rows;
// the engine decides what happens, this only looks.
import { Run } from "./session";

type Value = (row: number) => number;

/** A name as it stands in a text: in backquotes where it is not one word. */
export function quoteName(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_.[\]]*$/u.test(name) ? name : `\`${name}\``;
}

interface Token {
  kind: "number" | "name" | "sign" | "end";
  text: string;
}

const FUNCTIONS: Record<string, (...x: number[]) => number> = {
  sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos, atan: Math.atan, atan2: Math.atan2,
  sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh, asinh: Math.asinh, acosh: Math.acosh, atanh: Math.atanh,
  exp: Math.exp, ln: Math.log, log10: Math.log10, sqrt: Math.sqrt, abs: Math.abs, sign: Math.sign, floor: Math.floor,
  ceil: Math.ceil, min: Math.min, max: Math.max, pow: Math.pow, noEvent: (x) => x,
};

function tokens(text: string): Token[] {
  const result: Token[] = [];
  const pattern = /\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|`([^`]*)`|([\p{L}_][\p{L}\p{M}\p{N}_]*(?:\[[\d, ]+\][\p{L}\p{N}_]*)*(?:\.[\p{L}_][\p{L}\p{M}\p{N}_]*(?:\[[\d, ]+\])*)*)|(<=|>=|==|!=|[-+*/^()[\],<>]))/uy;
  let at = 0;
  while (text.slice(at).trim()) {
    pattern.lastIndex = at;
    const m = pattern.exec(text);
    if (!m) throw new Error(`"${text.slice(at).trim()}"`);
    at = pattern.lastIndex;
    if (m[1] !== undefined) result.push({ kind: "number", text: m[1] });
    else if (m[2] !== undefined || m[3] !== undefined) result.push({ kind: "name", text: m[2] ?? m[3] });
    else result.push({ kind: "sign", text: m[4] });
  }
  result.push({ kind: "end", text: "" });
  return result;
}

class Reader {
  private at = 0;
  private readonly list: Token[];

  constructor(
    text: string,
    private readonly run: Run,
  ) {
    this.list = tokens(text);
  }

  private get now(): Token {
    return this.list[this.at];
  }

  private take(...signs: string[]): string | null {
    if (this.now.kind !== "sign" || !signs.includes(this.now.text)) return null;
    return this.list[this.at++].text;
  }

  private expect(sign: string): void {
    if (!this.take(sign)) throw new Error(`"${sign}"`);
  }

  private name(name: string): Value {
    const run = this.run;
    if (name === "time" || name === "t") return (row) => run.rows.time.values[row];
    const column = run.column(name);
    if (column >= 0) return (row) => run.rows.columns[column].values[row];
    if (name in run.constants) return () => run.constants[name];
    if (name === "g") return () => 9.80665;
    if (name === "pi") return () => Math.PI;
    throw new Error(name);
  }

  private call(name: string): Value {
    const args: Value[] = [];
    if (!this.take(")")) {
      do args.push(this.sum());
      while (this.take(","));
      this.expect(")");
    }
    const f = FUNCTIONS[name];
    if (!f) throw new Error(name);
    return (row) => f(...args.map((a) => a(row)));
  }

  private atom(): Value {
    const token = this.list[this.at++];
    if (token.kind === "number") {
      const value = Number(token.text);
      return () => value;
    }
    if (token.kind === "name") return this.take("(") ? this.call(token.text) : this.name(token.text);
    if (token.text === "-") {
      const value = this.power();
      return (row) => -value(row);
    }
    if (token.text === "+") return this.power();
    if (token.text === "(") {
      const value = this.sum();
      this.expect(")");
      return value;
    }
    throw new Error(token.text);
  }

  private power(): Value {
    const base = this.atom();
    if (!this.take("^")) return base;
    const exponent = this.power();
    return (row) => base(row) ** exponent(row);
  }

  private product(): Value {
    let left = this.power();
    for (let sign = this.take("*", "/"); sign; sign = this.take("*", "/")) {
      const [a, b] = [left, this.power()];
      left = sign === "*" ? (row) => a(row) * b(row) : (row) => a(row) / b(row);
    }
    return left;
  }

  private sum(): Value {
    let left = this.product();
    for (let sign = this.take("+", "-"); sign; sign = this.take("+", "-")) {
      const [a, b] = [left, this.product()];
      left = sign === "+" ? (row) => a(row) + b(row) : (row) => a(row) - b(row);
    }
    return left;
  }

  /** Positive where it holds. */
  relation(): Value {
    const left = this.sum();
    const sign = this.take("<=", ">=", "==", "!=", "<", ">");
    if (!sign) throw new Error("<");
    const right = this.sum();
    this.end();
    if (sign.startsWith("<")) return (row) => right(row) - left(row);
    if (sign.startsWith(">")) return (row) => left(row) - right(row);
    return (row) => -Math.abs(left(row) - right(row));
  }

  private end(): void {
    if (this.now.kind !== "end") throw new Error(`"${this.now.text}"`);
  }
}

/** How far a relation is from its boundary: positive where it holds. Null when it is no plain relation. */
export function margin(text: string, run: Run): Value | null {
  try {
    return new Reader(text, run).relation();
  } catch {
    return null;
  }
}
