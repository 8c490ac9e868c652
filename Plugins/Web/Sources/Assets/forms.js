// Adds to each form that writes the secret of this browser, which only pages of this very address can read.
// The cookie does not prove that a page of the hub sent the form: browsers give it to every port of the host.
"use strict";
{
  const name = "hub-form-token";

  function token() {
    try {
      let text = localStorage.getItem(name);
      if (!text) {
        const bytes = crypto.getRandomValues(new Uint8Array(32));
        text = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
        localStorage.setItem(name, text);
      }
      return text;
    } catch {
      return ""; // The browser keeps nothing for this page: it only reads.
    }
  }

  document.addEventListener("formdata", (event) => {
    if (Element.prototype.matches.call(event.target, "form[method=post]")) event.formData.set("token", token());
  });
}
