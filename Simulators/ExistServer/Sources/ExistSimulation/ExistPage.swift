import GRDB
import Platform
import Samples
import WebFaults

/// Pages for people: the stand-in's data, and the questions of a log-in.
enum ExistPage {
    static func frame(_ title: String, refresh: Bool = false, _ body: String) -> String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8"><title>\(Markup.escaped(title))</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">\(refresh ? "<meta http-equiv=\"refresh\" content=\"5\">" : "")
        <style>\(style)</style></head>
        <body><main>\(body)</main></body></html>

        """
    }

    static func problem(_ text: String) -> String {
        frame("Exist stand-in", "<h1>No</h1><p>\(Markup.escaped(text))</p>")
    }

    /// Asks a person whether a client may have access.
    static func consent(_ request: WebRequest, client: String, users: [String], scopes: [String]) -> String {
        let query = request.query.filter { $0.name != "decision" }
            .map { "\($0.name)=\(WebRequest.encoded($0.value))" }.joined(separator: "&")
        func link(_ text: String, _ decision: String) -> String {
            let href = Markup.escaped("\(request.path)?\(query)&decision=\(WebRequest.encoded(decision))")
            return "<p><a class=\"button\" href=\"\(href)\">\(Markup.escaped(text))</a></p>"
        }
        return frame(
            "Allow \(client)?",
            "<h1>Allow \(Markup.escaped(client))?</h1><p class=\"note\">This is a stand-in for Exist. \(Markup.escaped(client)) asks for: "
                + "\(Markup.escaped(scopes.joined(separator: ", "))).</p>"
                + users.map { link("Allow, as \($0)", $0) }.joined() + link("Deny", "deny"))
    }

    private static let style = """
        :root { --ink: #1c1c1e; --paper: #fbfaf8; --line: #e3e0da; --soft: #6d6a64; --mark: #c2563a; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #eceae6; --paper: #171614; --line: #35322d; --soft: #a09b92; --mark: #e58a6d; } }
        body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0; }
        main { max-width: 46rem; margin: 0 auto; padding: 1.2rem; }
        h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .2rem; } h3 { font-size: 1rem; margin: 1.2rem 0 .2rem; }
        .note { color: var(--soft); font-size: .85rem; margin: .2rem 0; }
        svg { width: 100%; height: 5rem; display: block; } polyline { fill: none; stroke: var(--mark); stroke-width: 1.5; }
        circle { fill: var(--mark); }
        .scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; width: 100%; }
        td, th { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
        td.n { font-variant-numeric: tabular-nums; } .bad { color: var(--mark); }
        a { color: inherit; } .button { display: inline-block; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .4rem; }
        summary { color: var(--soft); font-size: .85rem; cursor: pointer; padding: .3rem 0; }
        """
}

extension SimulatedExist {
    /// Days, values, owners and the last calls.
    func page() throws -> String {
        let now = clock.now()
        let body = try state.queue.read { database in
            let users = try Row.fetchAll(database, sql: "SELECT name, zone FROM user ORDER BY rowid")
            let calls = try Row.fetchAll(database, sql: "SELECT * FROM call ORDER BY number DESC LIMIT 30")
            return try users.map { try section($0["name"], $0["zone"], database) }.joined()
                + Self.table(of: calls)
        }
        return ExistPage.frame(
            "Exist stand-in", refresh: true,
            "<h1>Exist, as a stand-in</h1><p class=\"note\">Not the real service: this data was sent to this machine. "
                + "Its clock: \(Timestamp(microseconds: now / 1_000_000 * 1_000_000).text)</p>\(body)")
    }

    private func section(_ user: String, _ zone: String, _ database: Database) throws -> String {
        var text =
            "<h2>\(Markup.escaped(user))</h2><p class=\"note\">\(Markup.escaped(zone))</p>"
        let attributes = try StoredExistAttribute.all(of: user, in: database)
        if attributes.isEmpty { text += "<p>No attributes yet.</p>" }
        for attribute in attributes {
            let values = try values(of: attribute, in: database)
            let owner = attribute.owner.map { "owned by \($0)" } ?? "without an owner"
            text += """
                <h3>\(Markup.escaped(attribute.label))</h3>
                <p class="note">\(Markup.escaped(attribute.name)) · \(Markup.escaped(owner)) · \
                \(Self.span(values.map(\.date)))</p>
                \(Self.line(values))<details><summary>The last days</summary><div class="scroll"><table>
                """
            for value in values.suffix(60).reversed() {
                text += "<tr><td>\(value.date)</td><td class=\"n\">\(Markup.escaped(value.json))</td></tr>"
            }
            text += "</table></div></details>"
        }
        return text
    }

    private static func span(_ dates: [String]) -> String {
        guard let first = dates.first, let last = dates.last, first != last else {
            return dates.first.map { "1 day, \($0)" } ?? "0 days"
        }
        return "\(dates.count) days, \(first) to \(last)"
    }

    /// The last four hundred days as a line; consecutive days are joined.
    private static func line(_ values: [(date: String, json: String)]) -> String {
        let points = values.suffix(400).compactMap { value -> (day: Int, value: Double)? in
            guard let day = LocalDate(value.date)?.daysSinceEpoch, let number = Double(value.json) else { return nil }
            return (day, number)
        }
        guard let first = points.first?.day, let last = points.last?.day, last > first,
            let low = points.map(\.value).min(), let high = points.map(\.value).max()
        else { return "" }
        let span = max(high - low, 1e-9)
        func place(_ point: (day: Int, value: Double)) -> (x: Double, y: Double) {
            let x = Double(point.day - first) / Double(last - first) * 300
            return ((x * 10).rounded() / 10, ((high - point.value) / span * 500).rounded() / 10 + 5)
        }
        var (lines, current): ([[(day: Int, value: Double)]], [(day: Int, value: Double)]) = ([], [])
        for point in points {
            if let before = current.last, point.day != before.day + 1 {
                lines.append(current)
                current = []
            }
            current.append(point)
        }
        lines.append(current)
        let drawn = lines.map { line in
            if line.count == 1 {
                let place = place(line[0])
                return "<circle cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"1.5\"/>"
            }
            let text = line.map { point in
                let place = place(point)
                return "\(place.x),\(place.y)"
            }
            return "<polyline points=\"\(text.joined(separator: " "))\"/>"
        }
        return "<svg viewBox=\"0 0 300 60\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"values by day\">"
            + "\(drawn.joined())</svg>"
    }

    private static func table(of calls: [Row]) -> String {
        let rows = calls.map { row in
            let (status, fault, time): (Int?, String?, Int64) = (row["status"], row["fault"], row["time"])
            let isGood = status.map { $0 < 400 } == true && fault == nil
            let answer = (status.map { "\($0)" } ?? "cut") + (fault.map { " · \($0)" } ?? "")
            return """
                <tr><td>\(Timestamp(microseconds: time / 1_000_000 * 1_000_000).text)</td>\
                <td>\(Markup.escaped("\(row["method"] as String) \(row["path"] as String)"))</td>\
                <td class="\(isGood ? "" : "bad")">\(Markup.escaped(answer))</td></tr>
                """
        }
        return "<h2>Last calls</h2>"
            + (rows.isEmpty
                ? "<p>None yet.</p>" : "<div class=\"scroll\"><table>\(rows.joined())</table></div>")
    }
}
