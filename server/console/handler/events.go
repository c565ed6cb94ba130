package handler

import (
	"net/http"
	"strconv"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
)

// Times of event streams: a comment is sent if nothing else is, so that proxies keep the
// connection, and a client that does not read for writeWithin is left.
const (
	commentEvery = 15 * time.Second
	writeWithin  = 10 * time.Second
)

// Events streams what happens as server-sent events.
func (a *API) Events(w http.ResponseWriter, r *http.Request) {
	query, refused := queryOf(r, []string{"decisions"})
	if refused != nil {
		a.service.Refuse(w, exchange.Problem, refused)
		return
	}
	// A header that is not a number is that of another server: no event is repeated.
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	events, err := a.console.Subscribe(r.Context(), a.callerOf(r), after, query.Get("decisions") == "1")
	if err != nil {
		a.service.Refuse(w, exchange.Problem, refusalOf(err))
		return
	}
	control := http.NewResponseController(w)
	send := func(text []byte) bool {
		// Errors of deadlines are those of writers that are not connections.
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(text); err != nil || control.Flush() != nil {
			return false
		}
		_ = control.SetWriteDeadline(time.Time{}) // that of HTTP/2 would end a quiet stream
		return true
	}
	w.Header()["Content-Type"] = []string{"text/event-stream"}
	w.WriteHeader(http.StatusOK)
	if !send([]byte(": events of writ\n\n")) {
		return
	}
	comments := time.NewTicker(commentEvery)
	defer comments.Stop()
	for {
		select {
		case <-comments.C:
			if !send([]byte(":\n\n")) {
				return
			}
		case event, ok := <-events:
			if !ok || !send(appendEvent(nil, event.ID, event.Name, event.Data)) {
				return
			}
		}
	}
}

// appendEvent appends a server-sent event. JSON has no line breaks.
func appendEvent(b []byte, id int64, name string, data any) []byte {
	if id != 0 {
		b = strconv.AppendInt(append(b, "id: "...), id, 10)
		b = append(b, '\n')
	}
	b = append(append(b, "event: "...), name...)
	b = append(append(b, "\ndata: "...), encode(data)...)
	return append(b, '\n')
}
