// How a number is written.
export const number = (value) => (value === null || value === undefined ? "–" : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4))));
