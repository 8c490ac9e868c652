import JSON
import Samples

extension QueryRequest.Condition {
    /// The expression as JSON; equal expressions give the same text, because a page's mark is valid only for the same question.
    public var json: RawJSON {
        var body = ObjectWriter()
        write(to: &body)
        return RawJSON(trusted: body.finished())
    }

    private func write(to body: inout ObjectWriter) {
        switch self {
        case .all(let parts): body.member("and", raw: Self.list(parts.map(\.json)))
        case .any(let parts): body.member("or", raw: Self.list(parts.map(\.json)))
        case .not(let part): body.member("not", raw: part.json)
        case .types(let names): body.member("type", texts: names)
        case .numbers(let numbers): body.member("number", integers: numbers)
        case .keys(let keys): body.member("key", texts: keys)
        case .properties(let facet, let matches):
            body.member(
                facet.rawValue,
                raw: Self.object { body in
                    for match in matches {
                        body.member(
                            match.name, raw: match.value.map(RawJSON.string) ?? RawJSON(trusted: Array("null".utf8)))
                    }
                })
        case .time(let from, let to, let strict):
            body.member(
                "time",
                raw: Self.object { body in
                    body.member("from", time: from)
                    body.member("to", time: to)
                    body.member("strict", texts: SpanEnd.texts(strict))
                })
        case .userEntered(let truth): body.member("userEntered", truth: truth)
        case .metadata(let name, let test):
            body.member(
                "metadata",
                raw: Self.object { body in
                    body.member("name", text: name)
                    Self.write(test, to: &body)
                })
        case .quantity(let comparisons, let unit): body.member("quantity", raw: Self.object(comparisons, unit))
        case .category(let choices): body.member("category", raw: Self.list(choices.map(\.json)))
        case .activity(let choices): body.member("activity", raw: Self.list(choices.map(\.json)))
        case .duration(let comparisons, let unit): body.member("duration", raw: Self.object(comparisons, unit))
        case .total(let type, let comparisons, let unit):
            body.member("total", raw: Self.object(comparisons, unit) { $0.member("type", text: type) })
        case .part(of: .correlation): body.member("partOf", text: "correlation")
        case .part(of: .workout): body.member("partOf", text: "workout")
        case .part(of: .record(let number)): body.member("partOf", integer: number)
        case .contains(let contained):
            body.member(
                "contains",
                raw: Self.object { body in
                    for part in contained { body.member(part.type, raw: part.condition.json) }
                })
        }
    }

    private static func write(_ test: MetadataTest, to body: inout ObjectWriter) {
        switch test {
        case .present: break
        case .oneOf(let values): body.member("in", raw: list(values.map(json)))
        case .compared(let comparisons):
            for comparison in comparisons { body.member(comparison.relation.rawValue, raw: json(comparison.value)) }
        case .measured(let comparisons, let unit):
            for comparison in comparisons { body.member(comparison.relation.rawValue, number: comparison.value) }
            body.member("unit", text: unit)
        }
    }

    private static func object(
        _ comparisons: [Comparison<Double>], _ unit: String, _ first: (inout ObjectWriter) -> Void = { _ in }
    ) -> RawJSON {
        object { body in
            first(&body)
            for comparison in comparisons { body.member(comparison.relation.rawValue, number: comparison.value) }
            body.member("unit", text: unit)
        }
    }

    private static func object(_ write: (inout ObjectWriter) -> Void) -> RawJSON {
        var body = ObjectWriter()
        write(&body)
        return RawJSON(trusted: body.finished())
    }

    private static func list(_ items: [RawJSON]) -> RawJSON {
        RawJSON(
            trusted: [UInt8(ascii: "[")] + items.map(\.bytes).joined(separator: [UInt8(ascii: ",")]) + [
                UInt8(ascii: "]")
            ])
    }

    private static func json(_ value: MetadataValue) -> RawJSON {
        switch value {
        case .text(let text): return .string(text)
        case .truth(let truth): return RawJSON(trusted: Array((truth ? "true" : "false").utf8))
        case .number(let number):
            var bytes: [UInt8] = []
            NumberWriter.append(number, to: &bytes)
            return RawJSON(trusted: bytes)
        }
    }
}

extension QueryRequest.Condition.Choice {
    fileprivate var json: RawJSON {
        switch self {
        case .name(let name): .string(name)
        case .raw(let raw): RawJSON(trusted: Array(String(raw).utf8))
        }
    }
}

extension SpanEnd {
    /// The values of `strict`; `nil` for none.
    static func texts(_ ends: Set<SpanEnd>) -> [String]? {
        ends.isEmpty ? nil : allCases.filter(ends.contains).map(\.rawValue)
    }
}
