// Updates an open page without a reload, and adds keyboard shortcuts. Without this script all pages work: filters are a
// form, links are links.
"use strict";

(() => {
  const main = () => document.getElementById("main");
  const link = document.getElementById("link");
  // Texts of this script, in the language of the page.
  const words = document.body.dataset;
  // Delay after the last key before the filter applies.
  const PAUSE = 150;

  document.documentElement.classList.add("script");

  // --- The same page, as the server has it now.

  let asked = 0;
  let waits = false;

  // No refresh while the user selects text or has an open list.
  const isSelecting = () => {
    const on = document.activeElement;
    try {
      if (on && on.matches("select:open")) return true;
    } catch {
      // An older browser without this selector.
    }
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && main().contains(selection.anchorNode);
  };

  // Restores the focus after the elements were replaced.
  const focused = () => {
    const on = document.activeElement;
    if (!on || !main().contains(on)) return () => {};
    const find = on.id
      ? () => document.getElementById(on.id)
      : () => [...main().querySelectorAll("a[href]")].find((a) => a.getAttribute("href") === on.getAttribute("href"));
    const value = on.value;
    const from = on.selectionStart;
    const to = on.selectionEnd;
    return () => {
      const now = find();
      if (!now) return;
      // The typed text is newer than the response.
      if (now.type === "search") now.value = value;
      now.focus({ preventScroll: true });
      if (now.type === "search") now.setSelectionRange(from, to);
    };
  };

  const show = (page) => {
    const top = window.scrollY;
    const refocus = focused();
    const open = new Map([...document.querySelectorAll("details[id]")].map((d) => [d.id, d.open]));
    const charts = [...document.querySelectorAll(".chart, pre, .scroll")].map((box) => box.scrollLeft);
    for (const old of document.querySelectorAll("[data-live]")) {
      const now = page.getElementById(old.id);
      if (now) old.replaceWith(document.adoptNode(now));
    }
    document.title = page.title;
    for (const [id, isOpen] of open) {
      const now = document.getElementById(id);
      if (now) now.open = isOpen;
    }
    document.querySelectorAll(".chart, pre, .scroll").forEach((box, n) => { box.scrollLeft = charts[n] || 0; });
    refocus();
    window.scrollTo(window.scrollX, top);
  };

  const refresh = async () => {
    if (isSelecting()) {
      waits = true;
      return;
    }
    waits = false;
    const mine = ++asked;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      const isPage = (answer.headers.get("content-type") || "").startsWith("text/html");
      const text = await answer.text();
      // A later request replaces this one.
      if (mine !== asked) return;
      if (!isPage) {
        showStatus(text.trim());
        return;
      }
      show(new DOMParser().parseFromString(text, "text/html"));
      showStatus("");
    } catch {
      if (mine === asked) lost();
    }
  };

  for (const ended of ["selectionchange", "focusout", "change"]) {
    document.addEventListener(ended, () => {
      if (waits && !isSelecting()) refresh();
    });
  }

  // --- When there is something new.

  let news = null;
  const showStatus = (text) => {
    link.textContent = text;
    link.classList.toggle("bad", text !== "");
  };
  const lost = () => showStatus(words.lost);

  const listen = () => {
    if (news) return;
    news = new EventSource("/events");
    news.addEventListener("open", () => showStatus(""));
    news.addEventListener("error", lost);
    news.addEventListener("version", (event) => {
      if (main().dataset.version !== event.data) refresh();
    });
  };
  const rest = () => {
    if (news) news.close();
    news = null;
  };
  // A hidden page sends no requests.
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
  window.addEventListener("pagehide", rest);
  window.addEventListener("pageshow", () => { if (!document.hidden) listen(); });
  if (!document.hidden) listen();

  // --- Filters, without a reload.

  let typing = 0;
  const filter = (replace) => {
    const form = document.getElementById("filter");
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(given).toString();
    go(query ? "/?" + query : "/", replace);
  };
  const go = (href, replace) => {
    if (replace) history.replaceState(null, "", href);
    else history.pushState(null, "", href);
    refresh();
  };
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "filter") return;
    event.preventDefault();
    filter(true);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("#filter select")) filter(false);
  });
  document.addEventListener("input", (event) => {
    if (event.target.id !== "q" || event.isComposing) return;
    clearTimeout(typing);
    typing = setTimeout(() => filter(true), PAUSE);
  });
  window.addEventListener("popstate", () => {
    // What stands there is of the other page.
    if (document.activeElement && document.activeElement.id === "q") document.activeElement.blur();
    refresh();
  });

  // --- Buttons and keys.

  const copy = async (button) => {
    const from = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = words.copied;
    } catch {
      document.getSelection().selectAllChildren(from);
      button.textContent = words.selected;
    }
    setTimeout(() => { button.textContent = words.toCopy; }, 1500);
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) copy(button);
    const to = event.target.closest("a[data-swap]");
    if (!to || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    // The form is not what was chosen any more.
    if (document.activeElement && document.activeElement.id === "q") document.activeElement.blur();
    go(to.getAttribute("href"), false);
  });

  const step = (by) => {
    const rows = [...document.querySelectorAll(".row .to")].filter((to) => !to.closest("details:not([open])"));
    if (rows.length === 0) return;
    const at = rows.indexOf(document.activeElement);
    const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1);
    rows[next].focus();
    rows[next].closest(".row").scrollIntoView({ block: "nearest" });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const on = event.target;
    if (on.matches("input, select, textarea")) {
      if (event.key === "Escape") on.blur();
      return;
    }
    const search = document.getElementById("q");
    if (event.key === "/" && search) search.focus();
    else if (event.key === "/") location.assign("/");
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "u") location.assign("/");
    else return;
    event.preventDefault();
  });
})();
