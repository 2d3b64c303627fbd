// Search over the headings and first words of every section; all words must occur.
const field = document.getElementById("search");
const found = document.getElementById("found");

function score(entry, words) {
  const heading = entry.h.toLowerCase();
  const text = entry.t.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const inHeading = heading.indexOf(word);
    if (inHeading < 0 && text.indexOf(word) < 0) return 0;
    sum += inHeading === 0 ? 5 : inHeading > 0 ? 3 : 1;
  }
  return sum;
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.textContent = "";
  if (!words.length) return;
  const hits = INDEX.map((entry) => [score(entry, words), entry]).filter((hit) => hit[0] > 0);
  hits.sort((a, b) => b[0] - a[0]);
  for (const [, entry] of hits.slice(0, 20)) {
    const link = document.createElement("a");
    link.href = entry.u;
    link.textContent = entry.h;
    const where = document.createElement("small");
    const at = Math.max(0, entry.t.toLowerCase().indexOf(words[0]) - 30);
    where.textContent = entry.u.split(".html")[0] + ": " + entry.t.slice(at, at + 90);
    link.append(where);
    found.append(link);
  }
  if (!hits.length) found.textContent = "Nothing found.";
}

field.addEventListener("input", show);
