package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-policy/writ/internal/limits"
	"github.com/writ-policy/writ/tests/openapi"
)

// standards are the endpoints of standards and questions, each with a body that is answered,
// and with a permit where it asks for a decision.
var standards = []struct {
	path, body string
	permits    bool
}{
	{"/access/v1/evaluation", `{"subject":{"type":"user","id":"alice"},"action":{"name":"get"},"resource":{"type":"pods","id":"p","properties":{"namespace":"hammer"}}}`, true},
	{"/access/v1/evaluations", `{"subject":{"type":"user","id":"alice"},"resource":{"type":"pods","id":"p","properties":{"namespace":"hammer"}},"evaluations":[{"action":{"name":"get"}}]}`, true},
	{"/access/v1/search/subject", `{"subject":{"type":"user"},"action":{"name":"get"},"resource":{"type":"pods","id":"p"}}`, false},
	{"/access/v1/search/resource", `{"subject":{"type":"user","id":"alice"},"action":{"name":"get"},"resource":{"type":"pods"}}`, false},
	{"/access/v1/search/action", `{"subject":{"type":"user","id":"alice"},"resource":{"type":"pods","id":"p"}}`, false},
	{"/v1/data/writ/access/decision", `{"input":{"user":"alice","verb":"get","resource":"pods","namespace":"hammer"}}`, true},
	{"/v0/data/writ/access/decision", `{"user":"alice","verb":"get","resource":"pods","namespace":"hammer"}`, true},
	{"/v1/who-can", `{"request":{"verb":"get","resource":"pods","namespace":"hammer"}}`, false},
	{"/v1/what-can", `{"user":"alice","namespace":"hammer"}`, false},
	{"/v1/decisions/access/batch", `{"requests":[{"user":"alice","verb":"get","resource":"pods","namespace":"hammer"}]}`, true},
}

// permit matches an answer that permits something.
var permit = regexp.MustCompile(`"(allowed|decision)":\s*true`)

// wire returns a request as it is on the wire.
func wire(path, header string, body []byte) []byte {
	return append(fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n", path, header, len(body)), body...)
}

// malformed returns requests about a path and a body that no client of the protocol sends,
// by name, as they are on the wire.
func malformed(path, body string) map[string][]byte {
	out := make(map[string][]byte)
	send := func(name, path, header string, body []byte) {
		out[name] = wire(path, header, body)
	}
	const jsonType = "Content-Type: application/json\r\n"
	for name, text := range map[string]string{
		"an array": `[` + body + `]`, "a string": `"a"`, "a number": `7`, "nothing": ``, "two values": body + body,
		"half a body": body[:len(body)/2], "a byte order mark": "\ufeff" + body,
		"a key twice": body[:len(body)-1] + `,` + body[1:], "a key twice, written otherwise": body[:len(body)-1] + `,"` + fmt.Sprintf(`\u%04x`, body[2]) + body[3:],
		"bytes that are not UTF-8": strings.Replace(body, "pods", "pods\xff", 1) + " \xff", "half a rune": body[:len(body)-1] + `,"x":"\ud800"}`,
		"deep": body[:len(body)-1] + `,"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"long": body[:len(body)-1] + `,"x":"` + strings.Repeat("a", 2<<20) + `"}`,
	} {
		send(name, path, jsonType, []byte(text))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		panic(err)
	}
	for key, value := range members {
		members[key] = json.RawMessage(`7`)
		text, err := json.Marshal(members)
		if err != nil {
			panic(err)
		}
		members[key] = value
		send("a number as "+key, path, jsonType, text)
		send(key+" in capitals", path, jsonType, []byte(strings.Replace(body, `"`+key+`"`, `"`+strings.ToUpper(key)+`"`, 1)))
	}
	send("a compressed bomb", path, jsonType+"Content-Encoding: gzip\r\n", bomb())
	send("another encoding", path, jsonType+"Content-Encoding: br\r\n", []byte(body))
	send("YAML", path, "Content-Type: application/yaml\r\n", []byte("a: b"))
	send("an encoded slash", strings.Replace(path, "/v", "%2Fv", 1), jsonType, []byte(body))
	send("a long header", path, jsonType+"X-Long: "+strings.Repeat("a", 2<<20)+"\r\n", []byte(body))
	send("many headers", path, jsonType+strings.Repeat("X-Many: a\r\n", 200_000), []byte(body))
	send("two lengths", path, jsonType+"Content-Length: 5\r\n", []byte(body))
	send("a slow body", path, jsonType, []byte(body))
	out["a slow body"] = out["a slow body"][:len(out["a slow body"])-3]
	return out
}

// bomb is 64 MiB of spaces, compressed.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	for range 1 << 6 {
		_, _ = w.Write(spaces)
	}
	_ = w.Close()
	return b.Bytes()
})

// What no client of a standard sends is refused, or answered without a permit, as the
// OpenAPI document describes. Requests that do not end are cut off.
func TestMalformedRequestsOfStandards(t *testing.T) {
	h := newHouse(t)
	h.config.Timeouts.Read = 2 * time.Second
	r := h.run()
	r.eventually("the server is ready", r.isReady)
	_, text := r.get("/v1/openapi.json")
	document, err := openapi.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	places := make(chan struct{}, 8)
	for _, endpoint := range standards {
		answer, body := exchanged(t, r.url, wire(endpoint.path, "Content-Type: application/json\r\n", []byte(endpoint.body)))
		if answer == nil || answer.StatusCode != http.StatusOK || permit.Match(body) != endpoint.permits {
			t.Fatalf("%s: got %v %s", endpoint.path, answer, body)
		}
		for name, request := range malformed(endpoint.path, endpoint.body) {
			clients.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				answer, body := exchanged(t, r.url, request)
				switch {
				case answer == nil: // the server closed the connection while the request was sent
				case answer.StatusCode >= 500, answer.StatusCode < 300 && permit.Match(body):
					t.Errorf("%s: %s: got %d %.300s", endpoint.path, name, answer.StatusCode, body)
				case answer.StatusCode == http.StatusRequestHeaderFieldsTooLarge, answer.Header.Get("X-Content-Type-Options") == "": // by net/http
				default:
					if err := document.Check("POST", endpoint.path, answer.StatusCode, answer.Header.Get("Content-Type"), body); err != nil {
						t.Errorf("%s: %s: %v", endpoint.path, name, err)
					}
				}
			})
		}
	}
	clients.Wait()
	if !r.allowed("alice") {
		t.Error("the server denies a request that is well-formed")
	}
}

// exchanged sends a request as it is on the wire and returns the answer; nil if the
// connection is closed without one.
func exchanged(t *testing.T, url string, request []byte) (*http.Response, []byte) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Error(err)
		return nil, nil
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Error(err)
	}
	_, _ = conn.Write(request) // the server may close the connection before it has all
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, nil
	}
	defer answer.Body.Close()
	got, _ := io.ReadAll(answer.Body)
	return answer, got
}

// A caller who is not accepted, or sends what is refused, cannot fill the log.
func TestCallersCannotFillTheLog(t *testing.T) {
	h := newHouse(t)
	var log syncBuffer
	h.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	h.config.Callers.Tokens = h.write("tokens.csv", "good,olga,1\n")
	r := h.run()
	r.eventually("ready", r.isReady)
	const sent = 3 * limits.MaxLines
	for range sent {
		if status, _ := r.get("/v1/status"); status != http.StatusUnauthorized {
			t.Fatalf("without a token: got status %d, want 401", status)
		}
	}
	for _, line := range []string{`msg="a caller was not accepted"`, "msg=request"} {
		if n := strings.Count(log.String(), line); n == 0 || n > limits.MaxLines {
			t.Errorf("%s: got %d lines of %d requests, want at most %d", line, n, sent, limits.MaxLines)
		}
	}
}

// A file of tokens that is emptied, as by a full disk, withdraws none of them.
func TestEmptiedTokens(t *testing.T) {
	h := newHouse(t)
	const content = "good,olga,1\n"
	h.config.Callers.Tokens = h.write("tokens.csv", content)
	r := h.run()
	r.client.Transport = tokenOf{"good", r.client.Transport}
	r.eventually("ready", r.isReady)
	h.write("tokens.csv", "")
	r.eventually("the failure is counted", func() bool { return r.metric("writ_files_failing 1") })
	h.write("tokens.csv", content+"other,otto,2\n")
	r.eventually("the file is read", func() bool { return r.metric("writ_files_failing 0") })
}

// tokenOf sends requests with a token.
type tokenOf struct {
	token string
	http.RoundTripper
}

func (s tokenOf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+s.token)
	return s.RoundTripper.RoundTrip(r)
}
