import HealthText

/// A chart with its legend, and its figures as a table.
struct ChartFigure: Sendable {
    let chart: Chart
    /// The columns after the first, which holds the time.
    let columns: [String]
    /// The rows, newest first.
    let rows: [[HTML]]
    var note: String?

    var html: HTML {
        """
        <figure class="chart-figure">\(chart.html)
        <figcaption>\(chart.legend)\(note.map { "<p class=\"faint\">\($0)</p>" as HTML })</figcaption>
        <details><summary>The figures as a table</summary>\(HTML.table(chart.title, ["When"] + columns, rows) { $0 })\
        </details></figure>
        """
    }

    /// Links, with the present one marked.
    static func choices(_ label: String, _ links: [(text: String, address: String, isHere: Bool)]) -> HTML {
        let items = HTML.each(links) { link in
            "<li><a href=\"\(url: link.address)\" \("aria-current=\"true\"", if: link.isHere)>\(link.text)</a></li>"
        }
        return "<nav class=\"choices\" aria-label=\"\(label)\"><ul>\(items)</ul></nav>"
    }
}
