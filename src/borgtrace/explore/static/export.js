// What is seen, to take along: a picture of a chart, an address, lines of code.
import { css } from "./look.js";

const FONT = "system-ui, sans-serif";

export const copy = async (text, button) => {
  const label = button.textContent;
  await navigator.clipboard.writeText(text);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
};

const swatch = (mark) => {
  const look = getComputedStyle(mark);
  return mark.classList.contains("dash") ? look.borderTopColor : look.backgroundColor;
};

// The chart with its heading, legend and times: a picture tells what it shows without its page.
const picture = (figure, range) => {
  const chart = figure.querySelector(".canvas canvas"), ratio = devicePixelRatio;
  const made = document.createElement("canvas"), pen = made.getContext("2d");
  const top = 52 * ratio, bottom = 26 * ratio, margin = 12 * ratio;
  [made.width, made.height] = [chart.width + 2 * margin, chart.height + top + bottom];
  pen.fillStyle = css("paper");
  pen.fillRect(0, 0, made.width, made.height);
  pen.drawImage(chart, margin, top);
  pen.fillStyle = css("ink");
  pen.textBaseline = "middle";
  pen.font = `600 ${14 * ratio}px ${FONT}`;
  pen.fillText(figure.querySelector("h2").textContent, margin, 16 * ratio);
  pen.font = `${12 * ratio}px ${FONT}`;
  let x = margin;
  for (const item of figure.querySelectorAll(".legend li")) {
    const label = item.querySelector("span").textContent;
    pen.fillStyle = swatch(item.querySelector("i"));
    pen.fillRect(x, 33 * ratio, 14 * ratio, 8 * ratio);
    pen.fillStyle = css("ink");
    pen.fillText(label, x + 19 * ratio, 38 * ratio);
    x += pen.measureText(label).width + 36 * ratio;
  }
  const kind = document.querySelector(".synthetic") ? " (synthetic)" : "";
  const words = [document.querySelector("h1").textContent, document.querySelector(".bar .kind").textContent.trim() + kind, `${range.text(range.from)} to ${range.text(range.to)}${range.calendar ? ` (${range.zone})` : ""}`, "borgtrace"];
  pen.fillStyle = css("muted");
  pen.fillText(words.join(" · "), margin, made.height - bottom / 2);
  return made;
};

export const savePicture = (figure, range) => {
  picture(figure, range).toBlob((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${figure.dataset.source.replace("/data/", "").replaceAll("/", "-")}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
};
