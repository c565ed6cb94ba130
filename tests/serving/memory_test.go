package serving

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/writ-policy/writ/tests/gate"
	"github.com/writ-policy/writ/tests/process"
)

var (
	attackTime = flag.Duration("attack", 1500*time.Millisecond, "how long hostile clients send at a time")
	attackEach = flag.Bool("each", false, "also attack the endpoints of each standard alone, and by each flood alone, for figures, and let servers of bundles answer slowly")
)

// maxGrowth is by how much the resident memory of a server may grow, whatever clients
// send.
const maxGrowth = 512 << 20

// list is text, count times, with commas between.
func list(text string, count int) string {
	return strings.Repeat(text+",", count-1) + text
}

// canonical is a request about a pod of a cluster whose pods are evaluated.
func canonical(member string) string {
	return `{"user":"Clark","verb":"create","resource":"pods","subresource":"exec","namespace":"hammer","name":"a","cluster":"prod-1",` + member + `}`
}

func volumes(volumes, mounts int) string {
	names := make([]string, volumes)
	for i := range names {
		names[i] = fmt.Sprintf(`{"name":"%d","hostPath":{}}`, i)
	}
	return `"pod":{"spec":{"volumes":[` + strings.Join(names, ",") + `],"containers":[{"name":"c","volumeMounts":[` + list(`{"name":"1"}`, mounts) + `]}]}}`
}

// hostileBodies hold as many values as they can, in all that a request may have. Half of
// them are just within the limit.
var hostileBodies = map[string]string{
	"containers":             canonical(`"pod":{"spec":{"containers":[` + list(`{"name":"c"}`, 75_000) + `]}}`),
	"attributes":             canonical(`"attributes":{"a":[` + list(`{}`, 345_000) + `]}`),
	"numbers":                canonical(`"attributes":{"a":[` + list(`1`, 500_000) + `]}`),
	"volumes":                canonical(volumes(12_000, 24_000)),
	"containers, in limits":  canonical(`"pod":{"spec":{"containers":[` + list(`{"name":"c"}`, 9_900) + `]}}`),
	"attributes, in limits":  canonical(`"attributes":{"a":[` + list(`{}`, 19_900) + `]}`),
	"members, in limits":     canonical(`"attributes":{"a":[` + list(`{"a":[]}`, 9_900) + `]}`),
	"volumes, in limits":     canonical(volumes(4_000, 3_900)),
	"long texts, in limits":  canonical(`"attributes":{"a":["` + strings.Repeat("a", 1_000_000) + `"]}`),
	"as many names as there": canonical(`"labels":{` + strings.TrimSuffix(manyNames(19_900), ",") + `}`),
}

func manyNames(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, `"%d":"",`, i)
	}
	return b.String()
}

// standardBodies are bodies of other endpoints that hold as much as they can: many
// evaluations, long lists, and large inputs. A path without a body is read.
var standardBodies = map[string][]string{
	"/access/v1/evaluation": {
		`{"subject":{"type":"user","id":"Clark"},"action":{"name":"get"},"resource":{"type":"pods","id":"p"},"context":{"a":[` + list(`{}`, 19_900) + `]}}`,
		`{"subject":{"type":"user","id":"Clark","properties":{"groups":[` + list(`"g"`, 19_900) + `]}},"action":{"name":"get"},"resource":{"type":"pods","id":"p"}}`,
	},
	"/access/v1/evaluations": {
		`{"subject":{"type":"user","id":"Clark"},"action":{"name":"get"},"resource":{"type":"pods","id":"p"},"evaluations":[` + list(`{}`, 10_000) + `]}`,
		`{"subject":{"type":"user","id":"Clark"},"action":{"name":"get"},"resource":{"type":"pods","id":"p","properties":{"a":"` + strings.Repeat("a", 800_000) + `"}},"evaluations":[` + list(`{}`, 10_000) + `]}`,
	},
	"/v1/data/writ/access/decision":     {`{"input":` + canonical(`"attributes":{"a":[`+list(`{}`, 19_900)+`]}`) + `}`},
	"/v1/data":                          {`{"input":` + canonical(`"attributes":{"a":[`+list(`1`, 19_900)+`]}`) + `}`},
	"/v1/data/writ/access?explain=full": {`{"input":` + canonical(`"attributes":{"a":[`+list(`1`, 9_900)+`]}`) + `}`},
	"/v1/who-can": {
		`{"request":{"verb":"get","resource":"pods"},"open":["verb","name","namespace","apiGroup","resource"]}`,
		`{"request":{"verb":"get","resource":"pods","namespace":"hammer","attributes":{"a":[` + list(`{}`, 19_900) + `]}}}`,
	},
	"/v1/what-can":     {`{"user":"Clark","groups":[` + list(`"g"`, 19_900) + `]}`},
	"/v1/openapi.json": {""},
}

// postStandards sends the bodies of endpoints whose paths begin so.
func (a *attack) postStandards(address, below string) {
	for path, bodies := range standardBodies {
		for _, body := range bodies {
			for range 100 / len(standardBodies) {
				if strings.HasPrefix(path, below) {
					a.post(address, path, "application/json", func() io.Reader { return strings.NewReader(body) })
				}
			}
		}
	}
}

// items is an endless stream of visible items.
type items struct {
	pending string
	count   int
}

func (s *items) Read(p []byte) (int, error) {
	if s.pending == "" {
		var b strings.Builder
		if s.count == 0 {
			b.WriteString(`{"user":"a","groups":["hammer"],"action":"view","type":"volumes","cluster":{"name":"prod-1","labels":{"env":"prod"}}}` + "\n")
		}
		for range 1000 {
			s.count++
			fmt.Fprintf(&b, `{"name":"v%d","namespace":"hammer","fields":{"capacity":%d.25}}`+"\n", s.count, s.count)
		}
		s.pending = b.String()
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// attack runs hostile clients, which repeat what they do until the context ends.
type attack struct {
	context.Context
	clients sync.WaitGroup
	sent    atomic.Int64
}

func (a *attack) post(address, path, media string, body func() io.Reader) {
	transport := &http.Transport{} // a connection of its own
	a.clients.Go(func() {
		defer transport.CloseIdleConnections()
		for a.Err() == nil {
			r, err := http.NewRequestWithContext(a, http.MethodPost, "http://"+address+path, body())
			if err != nil {
				panic(err)
			}
			r.Header.Set("Content-Type", media)
			if r.ContentLength == 0 {
				r.Method = http.MethodGet
			}
			if response, err := transport.RoundTrip(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			a.sent.Add(1)
		}
	})
}

// sendHalf begins calls on one connection and sends all but the last byte of each message.
func (a *attack) sendHalf(address string, calls int) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	const size = 1 << 20
	message := make([]byte, 5+size-1)
	binary.BigEndian.PutUint32(message[1:], size)
	for range calls {
		a.clients.Go(func() {
			for a.Err() == nil {
				body, send := io.Pipe()
				go func() { _, _ = send.Write(message) }()
				r, err := http.NewRequestWithContext(a, http.MethodPost, "http://"+address+authv3.Authorization_Check_FullMethodName, body)
				if err != nil {
					panic(err)
				}
				r.Header.Set("Content-Type", "application/grpc")
				r.Header.Set("Te", "trailers")
				if response, err := transport.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				_ = body.Close()
				a.sent.Add(1)
			}
		})
	}
}

// memoryOf returns a figure of the process in bytes: VmRSS, or its peak VmHWM.
func memoryOf(t *testing.T, running *os.Process, name string) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", running.Pid))
	if err != nil {
		t.Skip("the memory of a process is read from /proc")
	}
	var kilobytes int
	_, rest, _ := strings.Cut(string(text), name+":")
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return kilobytes << 10
}

// Whatever a hundred connections send, the memory of the server stays within its
// bounds, and others are answered meanwhile.
func TestMemoryUnderAttack(t *testing.T) {
	gate.Only(t)
	const policies = "../../examples/policies"
	const path = "/v1/decisions/access"
	attacks := map[string]func(a *attack, address, proxies string){
		"bodies": func(a *attack, address, _ string) {
			for range 100 / len(hostileBodies) {
				for _, body := range hostileBodies {
					a.post(address, path, "application/json", func() io.Reader { return strings.NewReader(body) })
				}
			}
		},
		"streams": func(a *attack, address, _ string) {
			for range 100 {
				a.post(address, "/v1/decisions/visibility", "application/x-ndjson", func() io.Reader { return new(items) })
			}
		},
		"standards":     func(a *attack, address, _ string) { a.postStandards(address, "/") },
		"half messages": func(a *attack, _, proxies string) { a.sendHalf(proxies, 250) },
		"all together": func(a *attack, address, proxies string) {
			for range 5 {
				for _, body := range hostileBodies {
					a.post(address, path, "application/json", func() io.Reader { return strings.NewReader(body) })
				}
			}
			for range 49 {
				a.post(address, "/v1/decisions/visibility", "application/x-ndjson", func() io.Reader { return new(items) })
			}
			a.sendHalf(proxies, 250)
		},
	}
	if *attackEach {
		for name, below := range map[string]string{
			"AuthZEN": "/access/", "Data API": "/v1/data", "who-can": "/v1/who-can", "what-can": "/v1/what-can", "OpenAPI": "/v1/openapi.json",
		} {
			attacks[name] = func(a *attack, address, _ string) { a.postStandards(address, below) }
		}
	}
	for name, begin := range attacks {
		t.Run(name, func(t *testing.T) {
			if name != "all together" {
				gate.Only(t)
			}
			proxies := process.FreeAddress(t)
			address, running := startProcess(t, "--policies", policies, "--envoy-listen", proxies)
			before := memoryOf(t, running, "VmRSS")
			ctx, stop := context.WithTimeout(t.Context(), *attackTime)
			defer stop()
			a := &attack{Context: ctx}
			begin(a, address, proxies)
			answered := askMeanwhile(t, ctx, address, proxies)
			a.clients.Wait()
			growth := memoryOf(t, running, "VmHWM") - before
			t.Logf("%d hostile requests, %d others answered, %d MiB above %d MiB", a.sent.Load(), answered, growth>>20, before>>20)
			if growth > maxGrowth {
				t.Errorf("the memory grew by %d MiB, want at most %d", growth>>20, maxGrowth>>20)
			}
		})
	}
}

// askMeanwhile asks as an API server and a proxy do until the context ends, and returns
// how often. Every answer must be a decision.
func askMeanwhile(t *testing.T, ctx context.Context, address, proxies string) (answered int) {
	t.Helper()
	connection, err := grpc.NewClient(proxies, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := authv3.NewAuthorizationClient(connection)
	const review = `{"user":"Clark","resourceAttributes":{"verb":"get","resource":"pods","namespace":"hammer"}}`
	for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		if allowed, reason := ask(t, address, review); !allowed {
			t.Errorf("a review: got denied, %s", reason)
		}
		response, err := client.Check(context.WithoutCancel(ctx), new(authv3.CheckRequest))
		if err != nil || response.GetStatus().GetCode() == 0 {
			t.Errorf("a proxy's check: got %v, %v", response, err)
		}
		answered++
	}
	return answered
}
