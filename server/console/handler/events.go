package handler

import (
	"net/http"
	"strconv"
	"time"

	"github.com/writ-policy/writ/server/api/exchange"
	"github.com/writ-policy/writ/server/auth"
	"github.com/writ-policy/writ/server/console"
)

// commentEvery is how often a stream of events has a comment if nothing else is sent, so that
// proxies keep the connection.
const commentEvery = 15 * time.Second

// Events streams what happens as server-sent events.
func (a *API) Events(w http.ResponseWriter, r *http.Request) {
	query, refused := queryOf(r, []string{"decisions"})
	if refused != nil {
		a.service.Refuse(w, exchange.Problem, refused)
		return
	}
	// A header that is not a number is that of another server: no event is repeated.
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	ctx, end := a.service.WhileAdmitted(r, auth.Auditor, func() bool { return console.IsSignedIn(r.Context()) })
	defer end()
	events, err := a.console.Subscribe(ctx, a.callerOf(r), after, query.Get("decisions") == "1")
	if err != nil {
		a.service.Refuse(w, exchange.Problem, refusalOf(err))
		return
	}
	send := func(text []byte) bool { return exchange.Push(w, text) }
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
