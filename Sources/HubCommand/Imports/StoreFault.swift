import HubClient

/// A hub that cannot store: an import ends with a sentence instead of waiting without a word.
enum StoreFault {
    /// - Parameter reason: as the hub gives it.
    static func failure(_ reason: String) -> Failure {
        let cause = isFullDisk(reason) ? "the disk of the hub is full" : "the hub cannot store now"
        return Failure(
            .tryAgain,
            "\(cause): \(reason). Everything before is stored. Then give the file again: it goes on, and nothing is doubled"
        )
    }

    static func isFullDisk(_ reason: String) -> Bool { reason.contains("no space left") }
}
