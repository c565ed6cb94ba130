package audit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-policy/writ/server/metrics"
)

// Bounds of the delivery.
const (
	maxQueued = 4096            // events that wait
	maxBatch  = 128             // events of one POST
	attempts  = 5               // of a POST
	patience  = 5 * time.Second // for an answer, and for all that is left at the end
	firstWait = 200 * time.Millisecond
)

// webhook posts events, one JSON object a line, in the order they came.
type webhook struct {
	url     string
	log     *slog.Logger
	metrics *metrics.Metrics
	client  *http.Client
	events  chan Event
	wait    time.Duration // before the second attempt; doubled before each further one
	failed  bool          // the last POST did, which was said; run's alone
}

func newWebhook(address string, log *slog.Logger, m *metrics.Metrics) (*webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("audit webhook: want the URL of a http or https server") // it may hold a secret
	}
	return &webhook{
		url: address, log: log, metrics: m, client: &http.Client{Timeout: patience},
		events: make(chan Event, maxQueued), wait: firstWait,
	}, nil
}

// queue never waits.
func (w *webhook) queue(events []Event) {
	for i := range events {
		select {
		case w.events <- events[i]:
		default:
			w.metrics.AuditDropped(metrics.AuditWebhook, 1)
		}
	}
}

// run delivers until ctx is done, and then what is left, as long as patience
// lasts: those events are of decisions that were made.
func (w *webhook) run(ctx context.Context) {
	delivery, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(patience, cancel) })()
	for {
		select {
		case first := <-w.events:
			w.deliver(delivery, w.batch(first))
			continue
		default:
		}
		select {
		case first := <-w.events:
			w.deliver(delivery, w.batch(first))
		case <-ctx.Done():
			return
		}
	}
}

// batch is first and what waits behind it.
func (w *webhook) batch(first Event) []Event {
	batch := []Event{first}
	for len(batch) < maxBatch {
		select {
		case next := <-w.events:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// deliver posts a batch, again where that may help, and drops it where it does
// not.
func (w *webhook) deliver(ctx context.Context, batch []Event) {
	body := encode(batch)
	wait, err := w.wait, error(nil)
	for attempt := range attempts {
		var again bool
		if again, err = w.post(ctx, body); err == nil {
			w.failed = false
			return
		}
		if !again || attempt == attempts-1 || !pause(ctx, wait) {
			break
		}
		wait *= 2
	}
	w.metrics.AuditDropped(metrics.AuditWebhook, len(batch))
	if !w.failed {
		w.log.Error("audit events are not delivered", "error", err)
	}
	w.failed = true
}

// post reports whether it may help to try again.
func (w *webhook) post(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("User-Agent", "writ")
	response, err := w.client.Do(request)
	if err != nil {
		if failed, ok := err.(*url.Error); ok {
			err = failed.Err // without the URL
		}
		return true, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection serves again
	if response.StatusCode/100 == 2 {
		return false, nil
	}
	code := response.StatusCode
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
		fmt.Errorf("the webhook answered %d", code)
}

// pause waits, and reports whether ctx is still good after it.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
