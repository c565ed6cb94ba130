package api

import (
	"bytes"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What comes after the end of an answer to a stream whose body did not end is the
// rest of that body, and never a request: proxies share connections.
func TestStreamSmugglesNothing(t *testing.T) {
	_, o := endpoints(nil, func(o *Options) { o.Current, o.Timeout = serving(&viewing{}), 100*time.Millisecond })
	server := httptest.NewServer(New(o))
	defer server.Close()
	const hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for name, row := range map[string]struct{ length, begin string }{
		"a line that stops":            {"Content-Length: 5000", "{\"user\":\"clark\"}\n{\"na"},
		"a chunk that stops":           {"Transfer-Encoding: chunked", "400\r\n{\"user\":\"clark\"}\n{\"na"},
		"a request that stops":         {"Content-Length: 5000", "{\"us"},
		"an invalid item":              {"Content-Length: 5000", "{\"user\":\"clark\"}\n[]\n"},
		"an invalid first line":        {"Content-Length: 5000", "{\"user\":1}\n"},
		"a whole body, and one behind": {"Content-Length: 17", "{\"user\":\"clark\"}\n"},
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.SetDeadline(time.Now().Add(time.Minute))
		_, err = io.WriteString(connection, "POST "+visiblePath+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+linesMedia+"\r\n"+row.length+"\r\n\r\n"+row.begin)
		if err != nil {
			t.Fatal(err)
		}
		var answer bytes.Buffer
		for chunk := make([]byte, 4096); !strings.Contains(answer.String(), "error") && !strings.Contains(answer.String(), "aggregations"); {
			n, err := connection.Read(chunk)
			if answer.Write(chunk[:n]); err != nil {
				break
			}
		}
		// The server may be waiting for the rest: until then it is all body.
		_, _ = io.WriteString(connection, hidden)
		rest, _ := io.ReadAll(connection)
		connection.Close()
		answer.Write(rest)
		if got := strings.Count(answer.String(), "HTTP/1.1 "); got != 1 {
			t.Errorf("%s: %d answers:\n%s", name, got, answer.String())
		}
	}
}
