init();
function evenkeelSearch(term) {
  if (searching) { reset_search(); searching = 0; matchedtxt.classList.add("hide"); }
  if (!term) { return ""; }
  try { search(term); }
  catch (error) { search(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")); }
  return searching ? matchedtxt.firstChild.nodeValue : "no match";
}
