// Queries that the reader keeps: in this browser, each as a link that can be sent.
import { element } from "./look.js";

const KEY = "borgtrace-queries";
const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) ?? []; } catch { return []; } };

// The first line that says something names a query.
const title = (query) => query.split("\n").map((line) => line.trim()).find((line) => line) ?? "";

export const offerSaving = (area, editor) => {
  const panel = document.querySelector("[data-saved]"), list = panel.querySelector("ul");
  const current = () => (editor ? editor.getValue() : area.value).trim();
  const show = () => {
    const queries = read();
    panel.hidden = queries.length === 0;
    list.replaceChildren(...queries.map((query) => {
      const item = element("li", ""), link = element("a", "", title(query)), remove = element("button", "", "×");
      link.href = `/sql?${new URLSearchParams({ q: query })}`;
      link.title = query;
      remove.type = "button";
      remove.setAttribute("aria-label", `Remove: ${title(query)}`);
      remove.addEventListener("click", () => write(read().filter((other) => other !== query)));
      item.append(link, " ", remove);
      return item;
    }));
  };
  const write = (queries) => { localStorage.setItem(KEY, JSON.stringify(queries)); show(); };
  const save = document.querySelector("[data-save]");
  save.hidden = false;
  save.addEventListener("click", () => {
    const query = current();
    if (query) write([query, ...read().filter((other) => other !== query)]);
  });
  show();
};
