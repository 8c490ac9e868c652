import HealthText

/// A chart of one person and type over time, readable visually, by screen readers and by scripts of the page.
///
/// It is SVG without inline style or script. Classes name the drawn elements, and positions are relative, so that the page's style
/// decides the size. Pages should show a table of the same figures beside it.
struct Chart: Sendable {
    /// How the figures are drawn.
    enum Form: Sendable {
        /// Separate points, with a line through another series, the ``Chart/trend``.
        case points
        /// A line, with a band from minimum to maximum if the figures have them.
        case line
        /// Bars from zero, for sums.
        case bars
    }

    /// The value that the person wants to reach.
    struct Goal: Sendable {
        /// In the unit of the type's values.
        var value: Double
        /// The label at the line: `Goal 70 kg`.
        var label: String
    }

    /// Maximum number of points drawn in one chart; if there are more, a selection shows their shape.
    static let most = 360

    /// The unique id on the page: letters, digits and `-`.
    var id: String
    var title: String
    var form: Form
    /// In order of time.
    private(set) var points: [ChartPoint]
    /// A line without marks through the points.
    private(set) var trend: [ChartPoint]
    var goal: Goal?
    /// Two figures further apart than this are not joined, in microseconds.
    var longestGap: Int64
    /// For many charts on a page: without axes, and without a text at each mark.
    var isSmall: Bool

    let format: ValueFormat
    let zone: String
    let reader: DisplayPreferences
    private let from, to: Int64

    /// - Parameters:
    ///   - points: in order of time; points that are not finite numbers are left out.
    ///   - from: the start of the chart in microseconds since 1970; by default that of the first point.
    ///   - to: the end of the chart; by default that of the last point.
    ///   - format: the format of the values.
    ///   - zone: IANA name of the zone whose midnights are marked.
    init(
        id: String, title: String, form: Form, points: [ChartPoint], trend: [ChartPoint] = [], goal: Goal? = nil,
        from: Int64? = nil, to: Int64? = nil, longestGap: Int64 = .max, isSmall: Bool = false, format: ValueFormat,
        zone: String, reader: DisplayPreferences
    ) {
        let shown = points.filter(\.isFinite)
        (self.id, self.title, self.form, self.goal) = (id, title, form, goal)
        (self.longestGap, self.isSmall, self.format) = (longestGap, isSmall, format)
        (self.points, self.trend) = (shown, trend.filter(\.isFinite))
        (self.zone, self.reader) = (zone, reader)
        self.from = from ?? shown.first?.time ?? 0
        self.to = to ?? shown.last?.end ?? 0
    }

    /// The measured points to draw: all if there are few; otherwise a selection that shows their shape, or stretches of them.
    var drawn: [ChartPoint] {
        let measured = points.filter { !$0.isCarried }
        if usesStretches { return measured.stretches(Chart.most / 2) }
        return measured.thinned(to: isSmall ? Chart.most / 4 : Chart.most)
    }

    /// Whether the number of points is so large that each mark shows a stretch of them, from minimum to maximum.
    ///
    /// Single points would not be visible.
    var usesStretches: Bool { form == .points && points.count { !$0.isCarried } > Chart.most }

    /// Whether each figure has a mark, instead of being only part of the line.
    var hasMarks: Bool { form != .line || points.count <= 100 }

    var html: HTML {
        let drawing = ChartDrawing(
            self, TimeAxis(from: from, to: to, zone: zone, reader: reader),
            ValueAxis(
                points.flatMap(\.values) + trend.map(\.value) + goalOnAxis, fromZero: form == .bars, format: format))
        return """
            <svg class="chart\(isSmall ? " small" : "")" role="img" aria-labelledby="\(id)-title \(id)-words">\
            <title id="\(id)-title">\(title)</title><desc id="\(id)-words">\(words)</desc>\(drawing.html)</svg>
            """
    }

    /// The goal's value, unless including it would flatten the figures.
    private var goalOnAxis: [Double] {
        guard let goal, let least = points.map(\.value).min(), let greatest = points.map(\.value).max() else {
            return []
        }
        let reach = max(greatest - least, greatest.magnitude * 0.02) * 3
        return goal.value < least - reach || goal.value > greatest + reach ? [] : [goal.value]
    }

    // MARK: - Text alternative

    /// A description for people who cannot see the chart: the span, the first and last value, the change, the minimum and maximum.
    var words: String {
        guard let first = points.first, let last = points.last,
            let least = points.min(by: { ($0.low ?? $0.value) < ($1.low ?? $1.value) }),
            let greatest = points.max(by: { ($0.high ?? $0.value) < ($1.high ?? $1.value) })
        else { return "There is nothing to show." }
        guard points.count > 1 else { return "\(first.when): \(format.text(first.value))." }
        var words =
            "From \(first.when) to \(last.when): first \(format.text(first.value)), last \(format.text(last.value))"
        words += form == .bars ? "." : ", change \(format.change(from: first.value, to: last.value))."
        words += " Least \(format.text(least.low ?? least.value)) (\(least.when)),"
        words += " greatest \(format.text(greatest.high ?? greatest.value)) (\(greatest.when))."
        let carried = points.count { $0.isCarried }
        if carried > 0 { words += " Days without a measurement, which repeat an earlier day: \(carried)." }
        if let goal { words += " \(goal.label)." }
        return words
    }

    /// The legend of the shapes; empty if there is only one kind.
    var legend: HTML {
        func item(_ shape: HTML, _ text: String) -> HTML {
            "<li><svg class=\"key\" aria-hidden=\"true\">\(shape)</svg>\(text)</li>"
        }
        var items: [HTML] = []
        if form == .points {
            items.append(
                usesStretches
                    ? item(
                        "<line class=\"range\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"100%\"/>",
                        "measured, from the least to the greatest of some days")
                    : item("<circle class=\"mark\" cx=\"50%\" cy=\"50%\" r=\"3.5\"/>", "measured"))
            if !usesStretches, points.contains(where: \.isCarried) {
                items.append(
                    item(
                        "<line class=\"carried\" x1=\"2\" x2=\"98%\" y1=\"50%\" y2=\"50%\"/>",
                        "carried from an earlier day"))
            }
            if !trend.isEmpty {
                items.append(item("<line class=\"trend\" x1=\"0\" x2=\"100%\" y1=\"50%\" y2=\"50%\"/>", "trend"))
            }
        } else if points.contains(where: { $0.low != nil }) {
            items.append(item("<line class=\"line\" x1=\"0\" x2=\"100%\" y1=\"50%\" y2=\"50%\"/>", "average"))
            items.append(
                item("<rect class=\"band\" x=\"0\" y=\"20%\" width=\"100%\" height=\"60%\"/>", "least to greatest"))
        }
        if goal != nil {
            items.append(item("<line class=\"goal\" x1=\"0\" x2=\"100%\" y1=\"50%\" y2=\"50%\"/>", "goal"))
        }
        return items.isEmpty ? HTML() : "<ul class=\"legend\">\(HTML.joined(items, by: ""))</ul>"
    }
}
