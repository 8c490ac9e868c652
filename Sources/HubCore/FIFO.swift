/// Elements that leave in the order in which they came, each step at the same cost however many there are.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = elements[head].take()
        head += 1
        // What has left is given back when it is the larger half.
        if head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
