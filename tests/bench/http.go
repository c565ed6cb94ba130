package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/writ-policy/writ/server/decision"
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
	return http.ListenAndServe(address, router) //nolint:gosec // a benchmark's own loopback server
}

// overHTTP prints the CPU time of a server process for each request.
func overHTTP(w *world, writ string, rounds, requests int) error {
	if _, err := os.Stat(writ); err != nil {
		return fmt.Errorf("no writ binary to serve with (make build): %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	serve := []string{"serve", "--policies", w.dir, "--log-level", "error", "--listen"}
	rows := []struct {
		name    string
		command []string
		bodies  [][]byte
	}{
		{"floor: empty gin handler", []string{self, "-floor"}, bodies(w.requests(repeated))},
		{"cached decision over HTTP", append([]string{writ}, serve...), bodies(w.requests(repeated))},
		{"uncached decision over HTTP", append([]string{writ, "serve", "--cache-entries", "0"}, serve[1:]...), bodies(w.requests(requests))},
	}
	best := make([]float64, len(rows))
	servers := make([]*child, len(rows))
	for i, row := range rows {
		if servers[i], err = startChild(row.command); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		defer servers[i].stop()
		if err := servers[i].load(row.bodies, requests/2); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	for round := range rounds {
		for i, row := range rows {
			before := servers[i].cpu()
			if err := servers[i].load(row.bodies, requests); err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
			each := (servers[i].cpu() - before).Seconds() / float64(requests) * 1e6
			if round == 0 || each < best[i] {
				best[i] = each
			}
		}
	}
	for i, row := range rows {
		fmt.Printf("  %-34s %10.1f us CPU %17.2f x floor\n", row.name, best[i], best[i]/best[0])
	}
	return nil
}

func bodies(requests []decision.Request) [][]byte {
	list := make([][]byte, len(requests))
	for i, r := range requests {
		body, err := json.Marshal(review{
			APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview", Metadata: map[string]any{},
			Spec: reviewSpec{User: r.User, Groups: r.Groups, ResourceAttributes: &reviewAttributes{
				Namespace: r.Namespace, Verb: r.Verb, Group: r.APIGroup, Version: "v1", Resource: r.Resource, Name: r.Name,
			}},
		})
		if err != nil {
			panic(err) // plain strings always have a JSON form
		}
		list[i] = fmt.Appendf(nil, "POST %s?timeout=3s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, */*\r\nContent-Length: %d\r\n\r\n%s", reviewPath, len(body), body)
	}
	return list
}

// child is a server process of our own, on loopback.
type child struct {
	command *exec.Cmd
	address string
}

func startChild(command []string) (*child, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	c := &child{command: exec.Command(command[0], append(command[1:], address)...), address: address}
	c.command.Stderr = os.Stderr
	if err := c.command.Start(); err != nil {
		return nil, err
	}
	client := http.Client{Timeout: time.Second}
	for range 3000 {
		answer, err := client.Get("http://" + address + "/readyz")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return c, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.stop()
	return nil, errors.New("not ready within a minute")
}

func (c *child) stop() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}

// cpu is the CPU time the process has used, in the kernel's ticks of 10 ms.
func (c *child) cpu() time.Duration {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.command.Process.Pid) + "/stat")
	if err != nil {
		panic(err) // bench runs where there is /proc
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// load sends n requests over kept connections, in turn.
func (c *child) load(bodies [][]byte, n int) error {
	var group sync.WaitGroup
	errs := make([]error, connections)
	for worker := range connections {
		group.Go(func() { errs[worker] = c.work(bodies, worker, n/connections) })
	}
	group.Wait()
	return errors.Join(errs...)
}

func (c *child) work(bodies [][]byte, worker, n int) error {
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for i := range n {
		if _, err := conn.Write(bodies[(worker+i*connections)%len(bodies)]); err != nil {
			return err
		}
		if err := readAnswer(reader); err != nil {
			return err
		}
	}
	return nil
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
