
"use strict";
const box = document.getElementById("search");
const field = box.querySelector("input");
const count = box.querySelector("output");
const blocks = [...document.querySelectorAll("article, #differences > section")];
box.hidden = false;
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  const ranges = [];
  let found = 0;
  for (const block of blocks) {
    const has = block.textContent.toLowerCase().includes(wanted);
    block.hidden = !has;
    found += has;
    if (has && wanted) mark(block, wanted, ranges);
  }
  count.textContent = wanted ? `${found} of ${blocks.length}` : "";
  if (self.Highlight) CSS.highlights.set("search", new Highlight(...ranges));
});
function mark(block, wanted, ranges) {
  const walk = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node && ranges.length < 5000; node = walk.nextNode()) {
    const text = node.data.toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      for (let up = node.parentElement; up !== block; up = up.parentElement) {
        if (up.tagName === "DETAILS") up.open = true;
      }
      if (at + wanted.length > node.length) break;
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
}
