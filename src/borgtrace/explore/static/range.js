// The times that all charts of a page show: kept in the address, so that a view can be sent, reloaded and left by "back".
import { number } from "./number.js";

const HOUR = 3.6e9;
const START = 6e8;
const LEAST = 3e8;

export class Range extends EventTarget {
  constructor(clock) {
    super();
    Object.assign(this, clock);
    this.whole = [clock.start, clock.end];
    // A job's or a task's page begins with its own life.
    const { start, end, from, to, at } = document.querySelector("[data-range]")?.dataset ?? {};
    this.home = start && end ? [Number(start), Number(end)] : this.whole;
    // People write dates into addresses: the server has read those of this one.
    this.opened = from && to ? { search: location.search, span: [Number(from), Number(to)] } : null;
    this.at = at ? Number(at) : null;
    this.pointer = null;
    const form = { timeZone: clock.zone, hourCycle: "h23", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
    this.format = new Intl.DateTimeFormat("en-GB", form);
    this.read();
    addEventListener("popstate", () => { this.read(); this.changed(); });
    document.querySelectorAll("[data-range-do]").forEach((button) => {
      button.addEventListener("click", () => this.act(button.dataset.rangeDo));
    });
  }

  read() {
    const query = new URLSearchParams(location.search);
    const span = this.opened?.search === location.search
      ? this.opened.span
      : ["from", "to"].map((name, i) => (query.has(name) ? this.parse(query.get(name)) : this.home[i]));
    [this.from, this.to] = span[0] < span[1] ? span : this.home;
  }

  // The addresses that this page writes are in µs; those that people write are the server's to read.
  parse(text) {
    const units = { d: 24 * HOUR, h: HOUR, m: HOUR / 60, s: 1e6 };
    if (/^\d+$/.test(text)) return Number(text);
    return [...text.matchAll(/([\d.]+)(d|h|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
  }

  get isWhole() { return this.from === this.whole[0] && this.to === this.whole[1]; }
  get isHome() { return this.from === this.home[0] && this.to === this.home[1]; }
  get asked() { return this.isWhole ? {} : { from: String(this.from), to: String(this.to) }; }
  // What the address says: nothing where the page is as it opens.
  get query() { return this.isHome ? {} : { from: String(this.from), to: String(this.to) }; }
  get seconds() { return [this.seconds_of(this.from), this.seconds_of(this.to)]; }
  seconds_of(time) { return time / 1e6 + this.epoch; }
  time_of(seconds) { return (seconds - this.epoch) * 1e6; }
  hours(time) { return `${number((time - START) / HOUR)} h`; }
  // Without a calendar, hours since the start are all that is known.
  text(time) { return this.calendar ? this.format.format(new Date(this.seconds_of(time) * 1000)) : this.hours(time); }

  place(from, to) {
    const length = Math.max(Math.min(to - from, this.whole[1] - this.whole[0]), Math.min(LEAST, this.whole[1] - this.whole[0]));
    this.from = Math.round(Math.min(Math.max(from, this.whole[0]), this.whole[1] - length));
    this.to = Math.round(this.from + length);
  }

  // While a hand still drags: what is drawn moves, and nothing is fetched.
  slide(from, to) {
    this.place(from, to);
    this.show();
    this.dispatchEvent(new Event("slide"));
  }

  zoom(factor, time) {
    this.set(time - (time - this.from) * factor, time + (this.to - time) * factor, {}, "replaceState");
  }

  // Where the pointer is, whichever chart it is in: all of them show it.
  point(time) {
    if (time === this.pointer) return;
    this.pointer = time;
    const place = document.querySelector("[data-pointer]");
    if (place) place.textContent = time === null ? "" : `Pointer: ${this.text(time)}${this.calendar ? ` (${this.hours(time)})` : ""}`;
    this.dispatchEvent(new Event("pointer"));
  }

  set(from, to, more = {}, how = "pushState") {
    this.place(from, to);
    const query = new URLSearchParams(location.search);
    ["from", "to"].forEach((name) => query.delete(name));
    Object.entries({ ...this.query, ...more }).forEach(([name, value]) => (value === null ? query.delete(name) : query.set(name, value)));
    const address = query.size ? `?${query}` : location.pathname;
    // What changes nothing, such as going on at the end of the trace, is no step to come back from.
    if (address === (location.search || location.pathname)) return;
    history[how](null, "", address);
    this.changed();
  }

  act(what) {
    const length = this.to - this.from, middle = (this.from + this.to) / 2;
    if (what === "whole") this.set(...this.whole, { first: null, last: null });
    if (what === "left") this.set(this.from - length / 4, this.to - length / 4);
    if (what === "right") this.set(this.from + length / 4, this.to + length / 4);
    if (what === "in") this.set(middle - length / 4, middle + length / 4);
    if (what === "out") this.set(middle - length, middle + length);
  }

  key(key) {
    const what = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "=": "in", "-": "out", 0: "whole" }[key];
    if (what) this.act(what);
    return Boolean(what);
  }

  changed() {
    this.show();
    this.dispatchEvent(new Event("change"));
  }

  show() {
    const text = document.querySelector("[data-range-text]");
    if (text) text.textContent = `${this.text(this.from)} to ${this.text(this.to)} (${this.zone}), ${((this.to - this.from) / HOUR).toFixed(1)} h${this.isWhole ? ", the whole trace" : ""}`;
    // Links that stay within the trace keep its times.
    document.querySelectorAll("[data-keep-range]").forEach((link) => {
      const address = new URL(link.href);
      ["from", "to"].forEach((name) => address.searchParams.delete(name));
      Object.entries(this.query).forEach(([name, value]) => address.searchParams.set(name, value));
      link.href = address;
    });
  }

  // The address of another page about the same times.
  address(path) {
    const query = new URLSearchParams(this.query);
    return query.size ? `${path}?${query}` : path;
  }
}
