"use strict";
(function () {
  function show(name) {
    document.querySelectorAll("[data-panel]").forEach(function (panel) {
      var active = panel.dataset.panel === name;
      panel.hidden = !active;
      // A flame graph measures itself when it loads, so it loads when it can be seen.
      var frame = panel.querySelector("iframe[data-document]");
      if (active && frame) {
        frame.srcdoc = frame.dataset.document;
        frame.removeAttribute("data-document");
      }
    });
    document.querySelectorAll("[data-tab]").forEach(function (tab) {
      tab.setAttribute("aria-selected", tab.dataset.tab === name ? "true" : "false");
    });
  }
  document.querySelectorAll("[data-tab]").forEach(function (tab) {
    tab.addEventListener("click", function () { show(tab.dataset.tab); });
  });
  document.querySelectorAll("[data-search]").forEach(function (form) {
    form.addEventListener("submit", function (event) {
      event.preventDefault();
      var frame = form.closest("[data-panel]").querySelector("iframe");
      var term = form.querySelector("input").value;
      form.querySelector("output").textContent = frame.contentWindow.evenkeelSearch(term);
    });
    form.querySelector("input").addEventListener("search", function () {
      form.requestSubmit();
    });
  });
  var first = document.querySelector("[data-tab]");
  if (first) { show(first.dataset.tab); }
})();
