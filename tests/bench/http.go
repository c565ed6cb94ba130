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

// figures are what requests cost the server, and how long they took.
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
	peers = slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return p.most > 0 && w.n > p.most })
	all, err := inTurns(peers, o)
	if err != nil {
		return nil, err
	}
	for i, p := range peers {
		f := all[i]
		ratio := f.cpu / all[floor].cpu
		r.printf("  %-44s %9.1f us CPU %8.2f x floor   p50 %6.2f ms   p99 %6.2f ms   %5.0f MiB\n",
			p.name, f.cpu, ratio, f.p50/1e3, f.p99/1e3, f.memory)
		r.reached(ratio, p.goal)
		switch {
		case p.goal == goalReview:
			r.reached(f.memory, goalMemory, w.n)
		case p.decisions > 0:
			r.reached(1e6/f.cpu, goalBatch)
		}
		r.point("CPU of a decision over HTTP", "us", p.name, w.n, f.cpu)
		r.point("Resident memory, peak", "MiB", p.name, w.n, f.memory)
	}
	return all, nil
}

// inTurns starts the peers and sends requests to one after the other, a turn each and then the
// next turn, so that all see the machine at the same times. What they cost is that of all turns:
// a server with a large heap collects garbage in few of them, which the smallest turn and the
// median would leave out.
func inTurns(peers []peer, o options) ([]figures, error) {
	list := make([]*measured, len(peers))
	for i := range peers {
		m := &measured{peer: &peers[i]}
		if err := m.start(o); err != nil {
			return nil, fmt.Errorf("%s: %w", m.peer.name, err)
		}
		defer m.child.stop()
		list[i] = m
	}
	settle(list)
	for more := true; more; {
		more = false
		for _, m := range list {
			isTurn, err := m.turn()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.peer.name, err)
			}
			more = more || isTurn
		}
	}
	all := make([]figures, len(list))
	for i, m := range list {
		all[i] = m.figures()
	}
	return all, nil
}

// measured is a peer that is measured.
type measured struct {
	peer   *peer
	child  *child
	before time.Duration   // the CPU time before the first turn
	took   []time.Duration // for each request of all turns
	total  int             // requests of all turns
}

// perTurn is how many requests a turn has.
const perTurn = 5000

// start starts the server and fills its caches. Slow peers get fewer requests.
func (m *measured) start(o options) (err error) {
	if m.child, err = startChild(m.peer.command, cmp.Or(m.peer.ready, "/readyz")); err != nil {
		return err
	}
	const (
		first = 8 * connections
		most  = 6 * time.Second // of all turns
	)
	m.total = first
	for _, n := range []int{first, o.requests} { // the first requests are slower than all others
		n = min(n, m.total)
		began := time.Now()
		if _, err = m.child.load(m.peer.bodies, n); err != nil {
			break
		}
		m.total = min(2*o.rounds*o.requests, max(first, int(most/(time.Since(began)/time.Duration(n)+1))))
	}
	if err != nil {
		m.child.stop()
	}
	return err
}

// settle waits until the servers have done what they do after a start.
func settle(list []*measured) {
	const still = 500 * time.Millisecond
	for busy, tries := true, 0; busy && tries < 60; tries++ {
		busy = false
		time.Sleep(still)
		for _, m := range list {
			now := m.child.cpu()
			busy = busy || now-m.before > still/20
			m.before = now
		}
	}
}

// turn sends the requests of a turn, and reports whether any were left.
func (m *measured) turn() (bool, error) {
	n := min(perTurn, m.total-len(m.took))
	if n < connections {
		return false, nil
	}
	took, err := m.child.load(m.peer.bodies, n)
	m.took = append(m.took, took...)
	return true, err
}

// figures are those of all turns.
func (m *measured) figures() figures {
	used := m.child.cpu() - m.before
	slices.Sort(m.took)
	at := func(share float64) float64 { return m.took[int(share*float64(len(m.took)-1))].Seconds() * 1e6 }
	return figures{
		cpu: used.Seconds() / float64(len(m.took)*max(m.peer.decisions, 1)) * 1e6, p50: at(0.5), p99: at(0.99), memory: m.child.memory(),
	}
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
	callers []*caller
}

// caller is a connection to a server.
type caller struct {
	net.Conn
	answers *bufio.Reader
	next    int // of the bodies
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
	for _, caller := range c.callers {
		_ = caller.Close()
	}
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
	for worker := len(c.callers); worker < connections; worker++ {
		conn, err := net.Dial("tcp", c.address)
		if err != nil {
			return nil, err
		}
		c.callers = append(c.callers, &caller{conn, bufio.NewReader(conn), worker})
	}
	var group sync.WaitGroup
	errs, took := make([]error, connections), make([][]time.Duration, connections)
	for worker, caller := range c.callers {
		group.Go(func() { took[worker], errs[worker] = caller.work(bodies, n/connections) })
	}
	group.Wait()
	return slices.Concat(took...), errors.Join(errs...)
}

func (c *caller) work(bodies [][]byte, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	for i := range n {
		began := time.Now()
		if _, err := c.Write(bodies[c.next%len(bodies)]); err != nil {
			return nil, err
		}
		c.next += connections
		if err := readAnswer(c.answers); err != nil {
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
