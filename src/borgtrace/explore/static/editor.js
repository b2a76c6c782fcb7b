// The SQL box: colors and completion by CodeMirror; without it the plain box works as well.
export const edit = (area) => {
  const { CodeMirror } = window;
  if (!CodeMirror) return null;
  const tables = JSON.parse(area.dataset.names);
  const submit = () => area.form.requestSubmit();
  const editor = CodeMirror.fromTextArea(area, {
    mode: "text/x-sql", lineWrapping: true, viewportMargin: Infinity, inputStyle: "contenteditable",
    hintOptions: { tables, completeSingle: false },
    // Tab leaves the box, as everywhere on a page.
    extraKeys: { "Ctrl-Enter": submit, "Cmd-Enter": submit, "Ctrl-Space": "autocomplete", Tab: false, "Shift-Tab": false },
  });
  editor.getInputField().setAttribute("aria-label", "One SELECT over the tables of the store");
  editor.on("inputRead", (_, change) => { if (/^[\w.]$/.test(change.text[0])) editor.showHint(); });
  return editor;
};
