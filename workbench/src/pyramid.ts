// SPDX-License-Identifier: MIT
//
// Rows of a run in memory, and the lowest and highest value of any stretch of them. Blocks of 16 values have
// their extremes kept, blocks of 16 blocks theirs, and so on: a stretch of a million rows is answered from some
// hundred numbers, and exactly, so that a picture drawn from it covers what all points would cover.

const BLOCK = 16;

/** A list of numbers that grows; values that are not determined are NaN and count for no extreme. */
export class Column {
  values: Float64Array = new Float64Array(1024);
  length = 0;
  private lows: Float64Array[] = [];
  private highs: Float64Array[] = [];
  private done: number[] = []; // whole blocks per level
  private completed = 0; // length when blocks were made

  push(value: number): void {
    if (this.length === this.values.length) {
      const grown = new Float64Array(2 * this.length);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length++] = value;
  }

  truncate(length: number): void {
    this.length = Math.min(this.length, length);
    this.completed = -1;
    this.above?.truncate(Math.floor(this.length / BLOCK));
    let blocks = this.length;
    for (let level = 0; level < this.done.length; level++) {
      blocks = Math.floor(blocks / BLOCK);
      this.done[level] = Math.min(this.done[level], blocks);
    }
  }

  low = NaN; // what look() has found
  high = NaN;

  /** Lowest and highest of the values from index `begin` up to, not including, `end`; NaN where there is none. */
  extremes(begin: number, end: number): [number, number] {
    this.look(begin, end);
    return [this.low, this.high];
  }

  /** The same, left in `low` and `high`: a picture asks some ten thousand times. */
  look(begin: number, end: number): void {
    if (this.length !== this.completed) this.complete();
    let low = Infinity;
    let high = -Infinity;
    let from = Math.max(0, begin);
    let to = Math.min(end, this.length);
    let lows: Float64Array = this.values;
    let highs: Float64Array = this.values;
    for (let level = 0; from < to; level++) {
      const whole = level < this.done.length ? this.done[level] : 0;
      const first = Math.ceil(from / BLOCK);
      const last = Math.min(Math.floor(to / BLOCK), whole);
      const direct = first >= last;
      for (let i = from; i < (direct ? to : first * BLOCK); i++) {
        if (lows[i] < low) low = lows[i];
        if (highs[i] > high) high = highs[i];
      }
      if (direct) break;
      for (let i = last * BLOCK; i < to; i++) {
        if (lows[i] < low) low = lows[i];
        if (highs[i] > high) high = highs[i];
      }
      from = first;
      to = last;
      lows = this.lows[level];
      highs = this.highs[level];
    }
    this.low = low <= high ? low : NaN;
    this.high = low <= high ? high : NaN;
  }

  private above: Column | null = null; // the lowest value above zero of each whole block

  /** The lowest of the values above zero from index `begin` up to, not including, `end`; Infinity where there is none. */
  lowestPositive(begin: number, end: number): number {
    const above = (this.above ??= new Column());
    for (let i = BLOCK * above.length; i + BLOCK <= this.length; i += BLOCK) above.push(this.positiveOf(i, i + BLOCK));
    const [from, to] = [Math.max(0, begin), Math.min(end, this.length)];
    const [first, last] = [Math.ceil(from / BLOCK), Math.floor(to / BLOCK)];
    if (first >= last) return this.positiveOf(from, to);
    above.look(first, last);
    return Math.min(above.low, this.positiveOf(from, first * BLOCK), this.positiveOf(last * BLOCK, to));
  }

  private positiveOf(begin: number, end: number): number {
    let low = Infinity;
    for (let i = begin; i < end; i++) if (this.values[i] > 0 && this.values[i] < low) low = this.values[i];
    return low;
  }

  /** The largest absolute value. */
  size(): number {
    this.look(0, this.length);
    return Math.max(Math.abs(this.low), Math.abs(this.high)) || 0;
  }

  /** The end of the equal values that begin at `from` (`by` 1), or the first of those that end there (-1), within 0 ... `end`. By
   * leaps: all values of a block are equal when its extremes are. */
  equalUpTo(from: number, by: 1 | -1, end = this.length): number {
    const value = this.values[from];
    let at = by > 0 ? from + 1 : from;
    for (let leap = 1; by > 0 ? at < end : at > 0;) {
      const to = Math.min(end, Math.max(0, at + by * leap));
      this.look(Math.min(at, to), Math.max(at, to));
      if (this.low === value && this.high === value) {
        at = to;
        leap *= 2;
      } else if (leap > 1) {
        leap = Math.max(1, leap >> 2);
      } else {
        break;
      }
    }
    return at;
  }

  private complete(): void {
    this.completed = this.length;
    let lows: Float64Array = this.values;
    let highs: Float64Array = this.values;
    let count = this.length;
    for (let level = 0; count >= BLOCK; level++) {
      const blocks = Math.floor(count / BLOCK);
      if (level === this.done.length) {
        this.done.push(0);
        this.lows.push(new Float64Array(64));
        this.highs.push(new Float64Array(64));
      }
      if (this.lows[level].length < blocks) {
        this.lows[level] = grow(this.lows[level], blocks);
        this.highs[level] = grow(this.highs[level], blocks);
      }
      for (let b = this.done[level]; b < blocks; b++) {
        let low = Infinity;
        let high = -Infinity;
        for (let i = b * BLOCK; i < (b + 1) * BLOCK; i++) {
          if (lows[i] < low) low = lows[i];
          if (highs[i] > high) high = highs[i];
        }
        this.lows[level][b] = low;
        this.highs[level][b] = high;
      }
      this.done[level] = blocks;
      lows = this.lows[level];
      highs = this.highs[level];
      count = blocks;
    }
  }
}

function grow(from: Float64Array, need: number): Float64Array {
  const grown = new Float64Array(Math.max(need, 2 * from.length));
  grown.set(from);
  return grown;
}

/** Rows: times that never fall, and columns beside them. Two rows at one time are a jump. */
export class Rows {
  readonly time = new Column();
  readonly columns: Column[];

  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => new Column());
  }

  get length(): number {
    return this.time.length;
  }

  append(numbers: Float64Array): void {
    const width = this.columns.length + 1;
    for (let at = 0; at + width <= numbers.length; at += width) {
      this.time.push(numbers[at]);
      for (let c = 1; c < width; c++) this.columns[c - 1].push(numbers[at + c]);
    }
  }

  truncate(length: number): void {
    this.time.truncate(length);
    for (const column of this.columns) column.truncate(length);
  }

  /** The first row at or behind t; `after`: the first behind it. */
  find(t: number, after = false): number {
    const time = this.time.values;
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (time[middle] < t || (after && time[middle] === t)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private cut = { from: NaN, to: NaN, width: 0, log: false, length: 0, at: new Int32Array(0) };

  /** The first row of each of `width` parts of a range, and the one behind the last part; `log`: parts of equal ratio instead of
   * equal length. */
  parts(from: number, to: number, width: number, log = false): Int32Array {
    const cut = this.cut;
    if (cut.from === from && cut.to === to && cut.width === width && cut.log === log && cut.length === this.length) return cut.at;
    const at = new Int32Array(width + 1);
    at[0] = this.find(from);
    for (let x = 1; x < width; x++) at[x] = this.find(log ? from * (to / from) ** (x / width) : from + ((to - from) * x) / width);
    at[width] = this.find(to, true);
    this.cut = { from, to, width, log, length: this.length, at };
    return at;
  }

  /** The value at t, on a straight line between rows; at a jump the one after it. */
  valueAt(column: number, t: number): number {
    const next = this.find(t, true);
    if (next === 0) return NaN;
    const values = this.columns[column].values;
    const time = this.time.values;
    const before = next - 1;
    if (next >= this.length || time[before] === t) return values[before];
    const part = (t - time[before]) / (time[next] - time[before]);
    return values[before] + part * (values[next] - values[before]);
  }
}
