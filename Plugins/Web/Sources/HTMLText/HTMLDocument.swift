/// A whole HTML page: its head and its body.
///
/// The page contains no inline script or style, so that a content security policy may forbid both.
struct HTMLDocument: Sendable {
    /// A language tag, such as `en` or `de-CH`.
    var language = "en"
    var title: String
    /// Addresses of style sheets.
    var styles: [String] = []
    /// Addresses of scripts, which run after the page is loaded.
    var scripts: [String] = []
    /// The address of an icon for the browser's tab.
    var icon: String?
    var body: HTML

    var html: HTML {
        """
        <!doctype html>
        <html lang="\(language)">
        <head><meta charset="utf-8"><title>\(title)</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        \(icon.map { "<link rel=\"icon\" href=\"\(url: $0)\">\n" as HTML })\
        \(HTML.each(styles) { "<link rel=\"stylesheet\" href=\"\(url: $0)\">\n" })\
        \(HTML.each(scripts) { "<script src=\"\(url: $0)\" defer></script>\n" })\
        </head>
        <body>
        \(body)
        </body>
        </html>

        """
    }
}
