import Foundation
import HealthText

/// Draws the contents of the picture.
///
/// Positions are percentages of its width and height. Lines with many points are in a nested picture that is stretched over it.
struct ChartDrawing {
    private let chart: Chart
    private let times: TimeAxis
    private let values: ValueAxis

    init(_ chart: Chart, _ times: TimeAxis, _ values: ValueAxis) {
        (self.chart, self.times, self.values) = (chart, times, values)
    }

    var html: HTML {
        let drawn = chart.drawn
        var html = chart.isSmall ? HTML() : axes
        html += goalLine
        switch chart.form {
        case .bars: html += bars(drawn)
        case .line:
            html += stretched(band(drawn) + path(drawn, "line"))
            html += chart.hasMarks && !chart.isSmall ? dots(drawn) : isolatedPoints(drawn)
        case .points:
            let trend = stretched(path(chart.trend.thinned(to: Chart.most), "trend"))
            html +=
                chart.usesStretches ? ranges(drawn) + trend : carried + trend + (chart.isSmall ? HTML() : dots(drawn))
        }
        return html
    }

    // MARK: - Positions

    private static func number(_ value: Double) -> String {
        let tenths = (value * 100).rounded() / 100
        return tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
    }

    private func x(_ time: Int64) -> String { Self.number(times.place(time) * 100) + "%" }
    private func y(_ value: Double) -> String { Self.number(100 - values.place(value) * 100) + "%" }

    // MARK: - Axes

    private var axes: HTML {
        let marks = values.marks
        let lines = HTML.each(marks) { mark in
            let y = Self.number(100 - mark.place * 100) + "%"
            return """
                <line class="rule" x1="0" x2="100%" y1="\(y)" y2="\(y)"/>\
                <text class="value" x="0" y="\(y)" dx="-8" dy="4">\(mark.text)</text>
                """
        }
        let unit: HTML =
            chart.format.symbol.isEmpty
            ? "" : "<text class=\"value\" x=\"0\" y=\"0\" dx=\"-8\" dy=\"-12\">\(chart.format.symbol)</text>"
        let labels = HTML.each(times.marks.enumerated()) { number, mark in
            let x = Self.number(mark.place * 100) + "%"
            return """
                <line class="tick" x1="\(x)" x2="\(x)" y1="0" y2="100%"/>\
                <text class="\(Self.anchor(mark.place))\(number.isMultiple(of: 2) ? "" : " odd")" x="\(x)" y="100%" dy="20">\(mark.text)</text>
                """
        }
        return lines + unit + labels
    }

    /// Aligns a text at an end inwards.
    private static func anchor(_ place: Double) -> String {
        place < 0.04 ? "time first" : place > 0.96 ? "time last" : "time"
    }

    private var goalLine: HTML {
        guard let goal = chart.goal else { return HTML() }
        let place = values.place(goal.value)
        let y = self.y(goal.value)
        guard !chart.isSmall else { return "<line class=\"goal\" x1=\"0\" x2=\"100%\" y1=\"\(y)\" y2=\"\(y)\"/>" }
        return """
            <line class="goal" x1="0" x2="100%" y1="\(y)" y2="\(y)"/>\
            <text class="goal-label" x="100%" y="\(y)" dy="\(place > 0.9 ? "16" : "-7")">\(goal.label)</text>
            """
    }

    // MARK: - Figures

    private func title(_ point: ChartPoint) -> HTML {
        guard !chart.isSmall else { return HTML() }
        var text = "\(point.when): \(chart.format.text(point.value))"
        if let low = point.low, let high = point.high, low != high {
            text += " (\(chart.format.text(low)) to \(chart.format.text(high)))"
        }
        return "<title>\(text)</title>"
    }

    private func bars(_ points: [ChartPoint]) -> HTML {
        HTML.each(points) { point in
            let (from, to) = (times.place(point.time), times.place(max(point.end, point.time + 1)))
            let (top, base) = (values.place(max(point.value, 0)), values.place(min(point.value, 0)))
            let gap = (to - from) * 0.15
            return """
                <rect class="bar mark" x="\(Self.number((from + gap / 2) * 100))%" width="\(Self.number(max(to - from - gap, 0) * 100))%" \
                y="\(Self.number(100 - top * 100))%" height="\(Self.number((top - base) * 100))%">\(title(point))</rect>
                """
        }
    }

    private func ranges(_ points: [ChartPoint]) -> HTML {
        HTML.each(points) { point in
            let (low, high) = (point.low ?? point.value, point.high ?? point.value)
            let words = "\(point.when): \(chart.format.text(low)) to \(chart.format.text(high))"
            return """
                <line class="range mark" x1="\(x(point.middle))" x2="\(x(point.middle))" y1="\(y(low))" y2="\(y(high))">\
                <title>\(words)</title></line>
                """
        }
    }

    private func dots(_ points: [ChartPoint]) -> HTML {
        let radius = points.count > 120 ? "2" : points.count > 40 ? "3" : "4"
        return HTML.each(points) { point in
            "<circle class=\"mark\" cx=\"\(x(point.middle))\" cy=\"\(y(point.value))\" r=\"\(radius)\">\(title(point))</circle>"
        }
    }

    /// Marks figures without a neighbour, which a line would not show.
    private func isolatedPoints(_ points: [ChartPoint]) -> HTML {
        HTML.each(runs(points).filter { $0.count == 1 }.joined()) { point in
            "<circle class=\"mark\" cx=\"\(x(point.middle))\" cy=\"\(y(point.value))\" r=\"2\">\(title(point))</circle>"
        }
    }

    /// A broken line from each measured day to the last day that repeats it.
    private var carried: HTML {
        var spans: [(from: ChartPoint, to: ChartPoint)] = []
        var before: ChartPoint?
        for point in chart.points {
            if point.isCarried {
                if let last = spans.last, before?.isCarried == true, last.to.value == point.value {
                    spans[spans.count - 1].to = point
                } else {
                    spans.append((before?.value == point.value ? before ?? point : point, point))
                }
            }
            before = point
        }
        // If there are too many to see, draw only the longest.
        if spans.count > Chart.most / 2 {
            let length = spans.map { $0.to.time - $0.from.time }.sorted(by: >)[Chart.most / 2]
            spans.removeAll { $0.to.time - $0.from.time <= length }
        }
        return HTML.each(spans) { span in
            """
            <line class="carried mark" x1="\(x(span.from.middle))" x2="\(x(span.to.middle))" y1="\(y(span.to.value))" y2="\(y(span.to.value))">\
            \(title(span.to))</line>
            """
        }
    }

    // MARK: - Lines

    private func runs(_ points: [ChartPoint]) -> [[ChartPoint]] {
        var runs: [[ChartPoint]] = []
        for point in points {
            if let last = runs.last?.last, point.time - last.end <= chart.longestGap {
                runs[runs.count - 1].append(point)
            } else {
                runs.append([point])
            }
        }
        return runs
    }

    private func place(_ time: Int64, _ value: Double) -> String {
        "\(Self.number(times.place(time) * 1_000)) \(Self.number(1_000 - values.place(value) * 1_000))"
    }

    private func path(_ points: [ChartPoint], _ name: String) -> HTML {
        let lines = runs(points).filter { $0.count > 1 }.map { run in
            "M" + run.map { place($0.middle, $0.value) }.joined(separator: "L")
        }
        return lines.isEmpty ? HTML() : "<path class=\"\(name)\" d=\"\(lines.joined())\"/>"
    }

    private func band(_ points: [ChartPoint]) -> HTML {
        let areas = runs(points.filter { $0.low != nil && $0.high != nil }).filter { $0.count > 1 }.map { run in
            let upper = run.map { place($0.middle, $0.high ?? $0.value) }
            let lower = run.reversed().map { place($0.middle, $0.low ?? $0.value) }
            return "M" + (upper + lower).joined(separator: "L") + "Z"
        }
        return areas.isEmpty ? HTML() : "<path class=\"band\" d=\"\(areas.joined())\"/>"
    }

    private func stretched(_ content: HTML) -> HTML {
        guard !content.isEmpty else { return content }
        return "<svg class=\"lines\" viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\">\(content)</svg>"
    }
}
