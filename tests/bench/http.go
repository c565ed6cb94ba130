package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
	"github.com/writ-policy/writ/tests/bench/report"
)

const (
	reviewPath  = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	connections = 16
	// repeated is how many different reviews a cached round sends over and over.
	repeated = 1000
)

type review struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       reviewSpec     `json:"spec"`
	Status     reviewStatus   `json:"status"`
}

type reviewSpec struct {
	User               string            `json:"user,omitempty"`
	Groups             []string          `json:"groups,omitempty"`
	ResourceAttributes *reviewAttributes `json:"resourceAttributes,omitempty"`
}

type reviewAttributes struct {
	Namespace string `json:"namespace,omitempty"`
	Verb      string `json:"verb,omitempty"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version,omitempty"`
	Resource  string `json:"resource,omitempty"`
	Name      string `json:"name,omitempty"`
}

type reviewStatus struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
}

var plainAnswer = []byte(`{"allowed":true,"denied":false,"reason":"allowed by ClusterRoleBinding floor (ClusterRole floor, rule 0)","warnings":[],"matched":[]}` + "\n")

// serveFloor is the floor over HTTP: gin, the same review decoded, a fixed answer.
func serveFloor(address string) error {
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.POST(reviewPath, func(c *gin.Context) {
		var r review
		if err := json.NewDecoder(c.Request.Body).Decode(&r); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		r.Status = reviewStatus{Allowed: true, Reason: "allowed by ClusterRoleBinding floor (ClusterRole floor, rule 0)"}
		c.JSON(http.StatusOK, &r)
	})
	router.GET("/readyz", func(c *gin.Context) { c.Status(http.StatusOK) })
	mux := http.NewServeMux()
	mux.Handle("/", router)
	// The floor of any endpoint: net/http, the body read, constant bytes.
	mux.HandleFunc("POST /plain", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(plainAnswer)
	})
	return http.ListenAndServe(address, mux) //nolint:gosec // a benchmark's own loopback server
}

// figures are what the requests of a round cost the server, and how long they took.
type figures struct {
	cpu, p50, p99 float64 // microseconds; cpu is for each decision
	memory        float64 // peak of the resident memory in MiB
}

// overHTTP prints what a decision costs each peer, as ratios of the peer at index floor.
func overHTTP(r *results, w *world, peers []peer, floor int, o options) error {
	_, err := measureOverHTTP(r, w, peers, floor, o)
	return err
}

// measureOverHTTP is overHTTP and returns the figures.
func measureOverHTTP(r *results, w *world, peers []peer, floor int, o options) ([]figures, error) {
	best := make([]figures, len(peers))
	for i, p := range peers {
		if p.most > 0 && w.n > p.most {
			continue
		}
		var err error
		if best[i], err = p.measure(o); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for i, p := range peers {
		if best[i].cpu == 0 {
			continue
		}
		r.printf("  %-44s %9.1f us CPU %8.2f x floor   p50 %6.2f ms   p99 %6.2f ms   %5.0f MiB\n",
			p.name, best[i].cpu, best[i].cpu/best[floor].cpu, best[i].p50/1e3, best[i].p99/1e3, best[i].memory)
		r.reached(best[i].cpu/best[floor].cpu, p.goal)
		switch {
		case p.goal == goalReview:
			r.reached(best[i].memory, goalMemory, w.n)
		case p.decisions > 0:
			r.reached(1e6/best[i].cpu, goalBatch)
		}
		r.point("CPU of a decision over HTTP", "us", p.name, w.n, best[i].cpu)
		r.point("Resident memory, peak", "MiB", p.name, w.n, best[i].memory)
	}
	return best, nil
}

// measure starts the peer and sends rounds of requests. Of each figure the smallest is
// kept. Slow peers get fewer requests.
func (p *peer) measure(o options) (best figures, err error) {
	c, err := startChild(p.command, cmp.Or(p.ready, "/readyz"))
	if err != nil {
		return best, err
	}
	defer c.stop()
	const first = 8 * connections
	began := time.Now()
	if _, err := c.load(p.bodies, first); err != nil {
		return best, err
	}
	const perRound = 2 * time.Second
	n := min(o.requests, max(first, int(perRound/(time.Since(began)/first+1))))
	for round := range o.rounds + 1 {
		before := c.cpu()
		took, err := c.load(p.bodies, n)
		if err != nil {
			return best, err
		}
		slices.Sort(took)
		at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e6 }
		now := figures{
			cpu: (c.cpu() - before).Seconds() / float64(len(took)*max(p.decisions, 1)) * 1e6, p50: at(0.5), p99: at(0.99),
		}
		switch round {
		case 0: // fills caches
		case 1:
			best = now
		default:
			best = figures{cpu: min(best.cpu, now.cpu), p50: min(best.p50, now.p50), p99: min(best.p99, now.p99)}
		}
	}
	best.memory = c.memory()
	return best, nil
}

// reviewBodies are requests as SubjectAccessReviews.
func reviewBodies(requests []decision.Request) [][]byte {
	bodies := make([][]byte, len(requests))
	for i, r := range requests {
		bodies[i] = encode(review{
			APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview", Metadata: map[string]any{},
			Spec: reviewSpec{User: r.User, Groups: r.Groups, ResourceAttributes: &reviewAttributes{
				Namespace: r.Namespace, Verb: r.Verb, Group: r.APIGroup, Version: "v1", Resource: r.Resource, Name: r.Name,
			}},
		})
	}
	return rawBodies(reviewPath+"?timeout=3s", bodies)
}

// plainOf are requests in their canonical form.
func plainOf(requests []decision.Request) [][]byte {
	bodies := make([][]byte, len(requests))
	for i := range requests {
		bodies[i] = requests[i].Encode()
	}
	return bodies
}

// batchBodies are requests in batches of batchSize.
func batchBodies(requests []decision.Request) [][]byte {
	var batches [][]byte
	for batch := range slices.Chunk(plainOf(requests), batchSize) {
		batches = append(batches, fmt.Appendf(nil, `{"requests":[%s]}`, bytes.Join(batch, []byte(","))))
	}
	return rawBodies("/v1/decisions/access/batch", batches)
}

func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // plain strings always have a JSON form
	}
	return text
}

// rawBodies are POST requests as they are sent.
func rawBodies(path string, bodies [][]byte) [][]byte {
	list := make([][]byte, len(bodies))
	for i, body := range bodies {
		list[i] = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, */*\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	}
	return list
}

// child is a server process of our own, on loopback.
type child struct {
	command *exec.Cmd
	address string
}

// startChild starts a server and returns when it answers at the path ready.
func startChild(command []string, ready string) (*child, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	command = withAddress(command, address)
	c := &child{command: exec.Command(command[0], command[1:]...), address: address}
	c.command.Stderr = os.Stderr
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	client := http.Client{Timeout: time.Second}
	for range 15000 {
		answer, err := client.Get("http://" + address + ready)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return c, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.stop()
	return nil, errors.New("not ready within five minutes")
}

func (c *child) stop() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// cpu is the CPU time the process has used.
func (c *child) cpu() time.Duration {
	used, err := report.CPU(c.command.Process.Pid)
	if err != nil {
		panic(err) // bench runs where there is /proc
	}
	return used
}

// memory is the peak of the resident memory in MiB.
func (c *child) memory() float64 {
	kilobytes, _ := strconv.ParseFloat(strings.TrimSuffix(report.Peak(c.command.Process.Pid), " kB"), 64)
	return kilobytes / 1024
}

// load sends n requests over kept connections, in turn, and returns how long each took.
func (c *child) load(bodies [][]byte, n int) ([]time.Duration, error) {
	var group sync.WaitGroup
	errs, took := make([]error, connections), make([][]time.Duration, connections)
	for worker := range connections {
		group.Go(func() { took[worker], errs[worker] = c.work(bodies, worker, n/connections) })
	}
	group.Wait()
	return slices.Concat(took...), errors.Join(errs...)
}

func (c *child) work(bodies [][]byte, worker, n int) ([]time.Duration, error) {
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	took := make([]time.Duration, n)
	for i := range n {
		began := time.Now()
		if _, err := conn.Write(bodies[(worker+i*connections)%len(bodies)]); err != nil {
			return nil, err
		}
		if err := readAnswer(reader); err != nil {
			return nil, err
		}
		took[i] = time.Since(began)
	}
	return took, nil
}

// readAnswer reads one answer and wants it to be a 200.
func readAnswer(r *bufio.Reader) error {
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", answer.Status)
	}
	return nil
}
