import CQRencode

/// A text as a QR code (ISO/IEC 18004), based on libqrencode.
public struct QRCode: Hashable, Sendable {
    /// The rows from the top, each from the left; `true` is dark.
    ///
    /// There are as many columns as rows.
    public let rows: [[Bool]]

    /// Returns `nil` if the text is empty, contains a NUL, or is too long for a code: 2,331 bytes.
    public init?(_ text: String) {
        guard !text.isEmpty, !text.utf8.contains(0), let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else {
            return nil
        }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard let data = code.pointee.data else { return nil }
        rows = (0..<width).map { row in (0..<width).map { data[row * width + $0] & 1 == 1 } }
    }

    /// The code for a terminal, two rows per line.
    ///
    /// Draws the light modules, because most terminals are dark, and adds a margin of two modules.
    public var lines: [String] {
        let margin = 2
        let width = rows.count
        func isLight(_ row: Int, _ column: Int) -> Bool {
            guard rows.indices.contains(row), rows.indices.contains(column) else { return true }
            return !rows[row][column]
        }
        return stride(from: -margin, to: width + margin, by: 2).map { row in
            String(
                (-margin..<width + margin).map { column -> Character in
                    switch (isLight(row, column), isLight(row + 1, column) && row + 1 < width + margin) {
                    case (true, true): "█"
                    case (true, false): "▀"
                    case (false, true): "▄"
                    case (false, false): " "
                    }
                })
        }
    }
}
