// One button folds and unfolds everything; without scripts each block is opened by hand.
const button = document.getElementById("unfold");
const blocks = document.querySelectorAll("details");
button.hidden = blocks.length === 0;
button.addEventListener("click", () => {
  const open = [...blocks].some((block) => !block.open);
  for (const block of blocks) block.open = open;
  button.textContent = open ? "Fold all" : "Unfold all";
});
