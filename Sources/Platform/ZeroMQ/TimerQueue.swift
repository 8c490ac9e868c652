/// Deadlines in order: a binary heap in which every timer knows its position, so that cancelling one frees it immediately.
struct TimerQueue {
    private var heap: [PollLoop.Timer] = []
    private var lastNumber: UInt64 = 0

    var next: ContinuousClock.Instant? { heap.first?.deadline }
    var isEmpty: Bool { heap.isEmpty }

    /// Numbers the timer, so that equal deadlines fire in the order they were set.
    mutating func insert(_ timer: PollLoop.Timer) {
        lastNumber += 1
        timer.number = lastNumber
        timer.place = heap.count
        heap.append(timer)
        siftUp(heap.count - 1)
    }

    mutating func remove(_ timer: PollLoop.Timer) {
        guard let place = timer.place else { return }
        timer.place = nil
        let moved = heap.removeLast()
        guard place < heap.count else { return }
        put(moved, at: place)
        siftDown(place)
        siftUp(place)
    }

    /// Removes and returns the earliest timer if it is due at `now` and its number is at most `number`.
    mutating func popDue(at now: ContinuousClock.Instant, upTo number: UInt64) -> PollLoop.Timer? {
        guard let first = heap.first, first.deadline <= now, first.number <= number else { return nil }
        remove(first)
        return first
    }

    /// The number of the timer set last.
    var newest: UInt64 { lastNumber }

    mutating func removeAll() -> [PollLoop.Timer] {
        defer { heap = [] }
        for timer in heap { timer.place = nil }
        return heap
    }

    private mutating func put(_ timer: PollLoop.Timer, at place: Int) {
        heap[place] = timer
        timer.place = place
    }

    private mutating func siftUp(_ start: Int) {
        var place = start
        while place > 0, heap[place] < heap[(place - 1) / 2] {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private mutating func siftDown(_ start: Int) {
        var place = start
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child] < heap[least] {
                least = child
            }
            if least == place { return }
            swap(place, least)
            place = least
        }
    }

    private mutating func swap(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].place = a
        heap[b].place = b
    }
}

extension PollLoop {
    /// A deadline on a ``PollLoop``; kept by the loop until it fires or is cancelled.
    public final class Timer {
        /// The earliest time at which it fires.
        public let deadline: ContinuousClock.Instant
        fileprivate(set) var number: UInt64 = 0
        fileprivate(set) var place: Int?
        private var action: (() -> Void)?
        private unowned let loop: PollLoop

        init(_ deadline: ContinuousClock.Instant, on loop: PollLoop, _ action: @escaping () -> Void) {
            (self.deadline, self.loop, self.action) = (deadline, loop, action)
        }

        /// Keeps the timer from firing.
        ///
        /// Only on the loop's thread; harmless when it has fired or the loop has stopped.
        public func cancel() {
            guard place != nil else { return }
            loop.preconditionOnLoop("Timer.cancel")
            loop.timers.remove(self)
            action = nil
        }

        /// Releases the action before it runs, so that its captures are freed even if it sets the timer's successor.
        func fire() {
            let action = action
            self.action = nil
            action?()
        }

        func forget() { action = nil }

        static func < (left: Timer, right: Timer) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }
}
