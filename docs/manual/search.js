// Search over the headings and texts of every section. Sections that have most of the words come first, and among those the ones
// that have them in the better places.
const field = document.getElementById("search");
const found = document.getElementById("found");
const SKIPPED = new Set(["a", "an", "and", "at", "can", "do", "does", "for", "from", "how", "i", "in", "is", "it", "my", "of", "on", "or",
  "the", "to", "what", "with"]);

/// The beginning of a word that its other forms have too: "stopping", "stopped" and "stops" are found by "stop".
function stem(word) {
  const cut = word.replace(/(?:ing|ed|es|s)$/, "");
  if (cut.length < 3 || cut === word) return word;
  return /([b-df-hj-np-tv-z])\1$/.test(cut) && cut.length > 4 ? cut.slice(0, -1) : cut;
}

function wordsOf(text) {
  const words = text.toLowerCase().split(/[\s,;?]+/).filter(Boolean);
  const telling = words.filter((word) => !SKIPPED.has(word));
  return (telling.length ? telling : words).map(stem);
}

function weight(text, word) {
  const at = text.indexOf(word);
  if (at < 0) return 0;
  return at === 0 || /[^\p{L}\d_]/u.test(text[at - 1]) ? 2 : 1; // a word that begins so, or has it inside
}

/// How many of the words a section has, and how well.
function rank(entry, words) {
  const heading = entry.h.toLowerCase();
  const text = entry.t.toLowerCase();
  let count = 0;
  let sum = entry.u.startsWith("howdoi") ? 0.5 : 0;
  for (const word of words) {
    const inHeading = weight(heading, word);
    const inText = weight(text, word);
    if (inHeading + inText > 0) count++;
    sum += 3 * inHeading + inText;
  }
  return [count, sum];
}

function show() {
  const words = wordsOf(field.value);
  found.textContent = "";
  if (!words.length) return;
  const ranked = INDEX.map((entry) => [...rank(entry, words), entry]).filter((hit) => hit[0] > 0);
  const hits = ranked.sort((a, b) => b[0] - a[0] || b[1] - a[1]);
  if (hits.length && hits[0][0] < words.length) {
    const note = document.createElement("small");
    note.textContent = `No section has all ${words.length} words.`;
    found.append(note);
  }
  for (const [, , entry] of hits.slice(0, 20)) {
    const link = document.createElement("a");
    link.href = entry.u;
    link.textContent = entry.h;
    const where = document.createElement("small");
    const text = entry.t.toLowerCase();
    const first = words.map((word) => text.indexOf(word)).find((at) => at >= 0) ?? 0;
    const at = Math.max(0, first - 30);
    where.textContent = entry.u.split(".html")[0] + ": " + entry.t.slice(at, at + 90);
    link.append(where);
    found.append(link);
  }
  if (!hits.length) found.textContent = "Nothing found.";
}

field.addEventListener("input", show);
// on a narrow screen the page comes first
if (globalThis.matchMedia?.("(max-width: 52rem)").matches) document.getElementById("chapters").open = false;
