package metrics

// Reason is why a request or a connection was refused to bound memory.
type Reason string

// The reasons.
const (
	LargeBody       Reason = "large_body"       // larger than the limit
	LargeBodies     Reason = "large_bodies"     // too many large bodies at a time
	BodiesInUse     Reason = "bodies_in_use"    // bodies that take more than all requests together may
	ManyValues      Reason = "many_values"      // more values than one request may have
	ValuesInUse     Reason = "values_in_use"    // more values than all requests together may have
	LargeStream     Reason = "large_stream"     // a stream that keeps more than one may
	StreamsInUse    Reason = "streams_in_use"   // streams that keep more than all together may
	AnswersInUse    Reason = "answers_in_use"   // answers that take more than all that are being sent may
	ManyStreams     Reason = "many_streams"     // too many streams at a time
	SlowMessage     Reason = "slow_message"     // a gRPC message that was not received in time
	ReplacedMessage Reason = "replaced_message" // a gRPC message that made room for a newer one
	ManyConnections Reason = "many_connections" // too many connections
	ManyWatches     Reason = "many_watches"     // too many watches, or too large lists of them
)

var reasons = []Reason{
	LargeBody, LargeBodies, BodiesInUse, ManyValues, ValuesInUse, AnswersInUse, LargeStream, StreamsInUse, ManyStreams,
	SlowMessage, ReplacedMessage, ManyConnections, ManyWatches,
}

// Refused counts a request or a connection that was refused for the reason.
func (m *Metrics) Refused(reason Reason) { m.bounded.WithLabelValues(string(reason)).Inc() }
