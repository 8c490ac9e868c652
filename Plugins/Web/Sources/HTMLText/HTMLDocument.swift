/// A whole HTML page: its head and its body.
///
/// The page contains no inline script or style, so that a content security policy may forbid both.
public struct HTMLDocument: Sendable {
    /// A language tag, such as `en` or `de-CH`.
    public var language: String
    public var title: String
    /// Addresses of style sheets.
    public var styles: [String]
    /// Addresses of scripts, which run after the page is loaded.
    public var scripts: [String]
    /// The address of an icon for the browser's tab.
    public var icon: String?
    public var body: HTML

    public init(
        language: String = "en", title: String, styles: [String] = [], scripts: [String] = [], icon: String? = nil,
        body: HTML
    ) {
        (self.language, self.title, self.styles, self.scripts) = (language, title, styles, scripts)
        (self.icon, self.body) = (icon, body)
    }

    public var html: HTML {
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
