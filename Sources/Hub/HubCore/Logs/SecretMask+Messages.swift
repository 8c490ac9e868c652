import FoundationEssentials
import HubWire

extension SecretMask {
    static let nothing = SecretMask([])

    func hiding(_ event: DeviceEvent) -> DeviceEvent { isEmpty ? event : event.rewritten(hiding) }

    /// Hides secrets in reasons, which are for people; a receipt is the target's own name of a record and stays.
    func hiding(_ report: DeliveryReport) -> DeliveryReport {
        guard !isEmpty else { return report }
        var report = report
        for (index, result) in report.results.enumerated() {
            switch result {
            case .delivered: break
            case .retry(let after, let reason):
                report.results[index] = .retry(after: after, reason: reason.map(hiding))
            case .refused(let reason): report.results[index] = .refused(reason: hiding(reason))
            case .unauthorized(let reason): report.results[index] = .unauthorized(reason: hiding(reason))
            }
        }
        return report
    }

    func hiding(_ progress: CommandProgress) -> CommandProgress {
        var progress = progress
        progress.text = progress.text.map(hiding)
        return progress
    }

    /// An `ask` stays: it goes to the person who logs in, with the address of a page that must be complete.
    func hiding(_ outcome: CommandOutcome) -> CommandOutcome {
        var outcome = outcome
        switch outcome.content {
        case .done(let result): outcome.content = .done(result: result.map(hiding))
        case .failed(let code, let reason): outcome.content = .failed(code: code, reason: hiding(reason))
        case .ask, .cancelled: break
        }
        return outcome
    }

    func hiding(_ request: TokenRequest) -> TokenRequest {
        var request = request
        if let reason = request.failure?.reason { request.failure?.reason = hiding(reason) }
        return request
    }

    /// The same JSON with secrets hidden in its texts; names of members stay.
    func hiding(_ json: RawJSON) -> RawJSON {
        guard !isEmpty else { return json }
        let bytes = json.bytes
        var (result, index): ([UInt8], Int) = ([], 0)
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\"") else {
                result.append(bytes[index])
                index += 1
                continue
            }
            var end = index + 1
            while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
                end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            let text = bytes[index..<min(end + 1, bytes.count)]
            index = text.endIndex
            let isName = bytes[index...].first { $0 > UInt8(ascii: " ") } == UInt8(ascii: ":")
            result += isName ? text : hidingInText(text)
        }
        return RawJSON(trusted: result)
    }

    /// Hides secrets in a JSON string, however it is spelt.
    private func hidingInText(_ quoted: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let text = try? JSONDecoder().decode(String.self, from: Data(quoted)) else { return quoted }
        let hidden = hiding(text)
        return hidden == text ? quoted : RawJSON.string(hidden).bytes[...]
    }
}
