import CoreMetrics
import HTTPTypes
import Hummingbird

/// Counts requests and measures their time by the pattern of the address, never by the address.
struct RequestMeter: RouterMiddleware {
    let registry: MetricRegistry

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let time = (ContinuousClock.now - start).components
        // All addresses without a route count as one.
        let route = response.status == .notFound ? "other" : context.endpointPath ?? "other"
        let status = "\(response.status.code / 100)xx"
        Counter(label: "web_requests_total", dimensions: [("route", route), ("status", status)], factory: registry)
            .increment()
        Timer(label: "web_request_duration_seconds", dimensions: [("route", route)], factory: registry)
            .recordNanoseconds(time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000)
        return response
    }
}
