package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/writ-policy/writ/internal/progress"
	"github.com/writ-policy/writ/internal/redirect"
	"github.com/writ-policy/writ/server/metrics"
)

// Bounds of the delivery.
const (
	maxQueued = 4096            // queued events
	maxBatch  = 128             // events in one POST
	attempts  = 5               // attempts of a POST
	timeout   = 5 * time.Second // for a response, and for all queued events on shutdown
	firstWait = 200 * time.Millisecond
)

// webhook posts events as JSON lines, in order.
type webhook struct {
	url     string
	log     *slog.Logger
	metrics *metrics.Metrics
	client  *http.Client
	events  chan event
	wait    time.Duration // before the second attempt; doubled for each further one
	failed  bool          // the last POST failed, and the error was logged; used by run only
}

func newWebhook(address string, log *slog.Logger, m *metrics.Metrics) (*webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("audit webhook: must be an http or https URL") // the URL may contain a secret
	}
	return &webhook{
		url: address, log: log, metrics: m, client: &http.Client{Transport: progress.Transport(nil), Timeout: timeout, CheckRedirect: redirect.Stay},
		events: make(chan event, maxQueued), wait: firstWait,
	}, nil
}

// queue adds events, or drops and counts them if the queue is full. It does not block.
func (w *webhook) queue(events []event) {
	for i := range events {
		select {
		case w.events <- events[i]:
		default:
			w.metrics.AuditDropped(metrics.AuditWebhook, 1)
		}
	}
}

// run delivers until ctx is done, and then delivers the queued events within timeout.
func (w *webhook) run(ctx context.Context) {
	delivery, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(timeout, cancel) })()
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

// batch returns the first event and the events queued behind it.
func (w *webhook) batch(first event) []event {
	batch := []event{first}
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

// deliver posts a batch, with retries for temporary errors. It drops the batch if all
// attempts fail.
func (w *webhook) deliver(ctx context.Context, batch []event) {
	err := w.postAgain(ctx, encode(batch))
	if err != nil {
		w.metrics.AuditDropped(metrics.AuditWebhook, len(batch))
		if !w.failed {
			w.log.Error("audit events are not delivered", "error", err)
		}
	}
	w.failed = err != nil
}

// postAgain sends a batch until the webhook accepts it, an error is permanent, ctx is done
// or all attempts failed. It returns the last error.
func (w *webhook) postAgain(ctx context.Context, body []byte) error {
	for attempt, wait := 1, w.wait; ; attempt, wait = attempt+1, 2*wait {
		again, err := w.post(ctx, body)
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// post sends a batch. It returns an error if the webhook did not accept it, and whether
// the error may be temporary.
func (w *webhook) post(ctx context.Context, body []byte) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("User-Agent", "writ")
	response, err := w.client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the URL
		}
		return true, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection can be reused
	if response.StatusCode/100 == 2 {
		return false, nil
	}
	code := response.StatusCode
	return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout,
		fmt.Errorf("the webhook responded with status %d", code)
}
