package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// work is what the connections share.
type work struct {
	address   string
	documents *documents
	report    *report
	running   sync.WaitGroup
}

// question is a request, and what the answer is in each variant.
type question struct {
	path, body string
	// allows is a text that an answer has if and only if it allows.
	allows string
	// isAllowed states for a variant whether the request is allowed.
	isAllowed func(variant int) bool
}

// questions are all questions about the user load-N and the resource widgets-N.
func questions() []question {
	const review = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	var all []question
	for n := range variants {
		granted := func(variant int) bool { return variant == n }
		denied := func(variant int) bool { return variant != n }
		for _, q := range []question{
			{"/v1/decisions/access", access("load-%d", "get", "widgets"), `"allowed":true`, granted},
			{"/v1/decisions/access", access("load-all", "delete", "widgets-%d"), `"allowed":true`, denied},
			{review, reviewed("load-%d", "get", "widgets"), `"allowed":true`, granted},
			{review, reviewed("load-all", "delete", "widgets-%d"), `"allowed":true`, denied},
			{"/v1/decisions/visibility", `{"user":"load-%d","action":"view","type":"","cluster":{"name":"load","labels":{}}}`, `"decision":"allow"`, granted},
			{"/v1/decisions/gateway", `{"request":{"host":"a.example","method":"GET","path":"/"},"gateway":{"namespace":"load","name":"load"},"auth":{"identity":{"sub":"load-%d"}}}`, `"allowed":true`, granted},
		} {
			q.body = fmt.Sprintf(q.body, n)
			all = append(all, q)
		}
	}
	return all
}

func access(user, verb, resource string) string {
	return `{"user":"` + user + `","verb":"` + verb + `","apiGroup":"load.example","resource":"` + resource + `"}`
}

func reviewed(user, verb, resource string) string {
	return `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"` + user +
		`","resourceAttributes":{"verb":"` + verb + `","group":"load.example","resource":"` + resource + `"}}}`
}

// ask asks on one connection until the context ends.
func (w *work) ask(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	all := questions()
	for ctx.Err() == nil {
		q := all[rand.IntN(len(all))]
		began := time.Now()
		revision, answer, err := w.post(client, q)
		if err != nil {
			w.report.fail(err)
			continue
		}
		w.report.answered(revision, time.Since(began))
		variant, known := w.documents.revisions[revision]
		switch got := bytes.Contains(answer, []byte(q.allows)); {
		case !known:
			w.report.wrong("revision " + revision + " is not that of any documents")
		case got != q.isAllowed(variant) || !json.Valid(answer):
			w.report.wrong(fmt.Sprintf("variant %d: %s %s: %s", variant, q.path, q.body, answer))
		}
	}
}

// post asks one question. The error is that of a request without a decision.
func (w *work) post(client *http.Client, q question) (revision string, answer []byte, err error) {
	response, err := client.Post("http://"+w.address+q.path, "application/json", bytes.NewReader([]byte(q.body)))
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return response.Header.Get("Writ-Revision"), answer, err
}

// exceed sends bodies and headers over the bounds, one after another. Each must be refused
// by its status.
func (w *work) exceed(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for ctx.Err() == nil {
		for _, tt := range []struct {
			name         string
			body, header int
			want         int
		}{{"a body", 2 << 20, 0, http.StatusRequestEntityTooLarge}, {"a header", 0, 64 << 10, http.StatusRequestHeaderFieldsTooLarge}} {
			request, err := http.NewRequest(http.MethodPost, "http://"+w.address+"/v1/decisions/access", strings.NewReader(strings.Repeat(" ", tt.body)))
			if err != nil {
				panic(err) // the URL is that of the server
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Large", strings.Repeat("a", tt.header))
			response, err := client.Do(request)
			if err != nil { // the server may close before all is sent
				continue
			}
			response.Body.Close()
			if response.StatusCode != tt.want {
				w.report.fail(fmt.Errorf("%s over the bound: %s", tt.name, response.Status))
			}
			w.report.exceeded.Add(1)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// keep keeps a number of connections open until the context ends. Those that the server
// closes are opened again.
func (w *work) keep(ctx context.Context, number int, use func(context.Context, net.Conn, int)) {
	for i := range number {
		w.running.Go(func() {
			pause(ctx, time.Duration(i)*time.Millisecond/2) // not all at once
			for ctx.Err() == nil {
				connection, err := net.DialTimeout("tcp", w.address, 5*time.Second)
				if err != nil {
					w.report.refused.Add(1)
					pause(ctx, time.Second)
					continue
				}
				w.report.opened.Add(1)
				end := context.AfterFunc(ctx, func() { _ = connection.Close() })
				use(ctx, connection, i)
				end()
				_ = connection.Close()
			}
		})
	}
}

// sendSlowly sends a header or a body, a byte a second, until the server ends the
// connection.
func (w *work) sendSlowly(ctx context.Context, connection net.Conn, i int) {
	text := "POST /v1/decisions/access HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	if i%2 == 0 {
		if _, err := io.WriteString(connection, text+"Content-Length: 9000\r\n\r\n{"); err != nil {
			return
		}
		text = `"user":"a","verb":"get","resource":"pods"`
	}
	for at := 0; ctx.Err() == nil; at = (at + 1) % len(text) {
		if _, err := io.WriteString(connection, text[at:at+1]); err != nil {
			return
		}
		pause(ctx, time.Second)
	}
}

// stayIdle sends one request, and then reads until the server closes the connection.
func (w *work) stayIdle(_ context.Context, connection net.Conn, _ int) {
	if _, err := io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
		_, _ = io.Copy(io.Discard, connection)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
