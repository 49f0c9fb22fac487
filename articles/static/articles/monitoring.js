// The filters of the board apply when they are chosen.
document.getElementById("board-filters").addEventListener("change", (event) => {
    if (event.target.matches("select")) event.currentTarget.requestSubmit();
});
