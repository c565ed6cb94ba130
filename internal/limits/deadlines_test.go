package limits

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// pipe returns both ends of a connection that a bounded listener has accepted.
func pipe(t *testing.T) (server, client net.Conn, close func() error) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listener(inner, 10, func() {})
	if client, err = net.Dial("tcp", inner.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = client.Close(), server.Close(), l.Close() })
	return server, client, l.Close
}

func TestDeadlinesPass(t *testing.T) {
	for _, row := range []struct {
		name   string
		within time.Duration
	}{{"in the past", -time.Hour}, {"near", 50 * time.Millisecond}, {"looked at in steps", near + 2*step}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server, _, closeListener := pipe(t)
			if err := closeListener(); err != nil { // connections outlive their listener
				t.Fatal(err)
			}
			for range 2 { // the second time after one that has passed
				began := time.Now()
				if err := server.SetDeadline(began.Add(row.within)); err != nil {
					t.Fatal(err)
				}
				_, err := server.Read(make([]byte, 1))
				if took := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || took < row.within {
					t.Fatalf("got %v after %v, want a timeout after %v", err, took, row.within)
				}
				if err := server.SetDeadline(began); err != nil {
					t.Fatal(err)
				}
				if _, err := server.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("got %v of a write, want a timeout", err)
				}
			}
		})
	}
}

func TestDeadlinesAreLifted(t *testing.T) {
	server, client, _ := pipe(t)
	for _, next := range []time.Time{{}, time.Now().Add(time.Hour)} {
		for _, first := range []time.Time{time.Unix(1, 0), time.Now().Add(near + step)} {
			if err := errors.Join(server.SetReadDeadline(first), server.SetReadDeadline(next)); err != nil {
				t.Fatal(err)
			}
			late := time.AfterFunc(near+3*step, func() { _, _ = client.Write([]byte("x")) })
			if _, err := server.Read(make([]byte, 1)); err != nil {
				t.Errorf("got %v, want what was sent later", err)
			}
			late.Stop()
		}
	}
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	server, _, _ := pipe(t)
	d := server.(*timed).deadlines
	_ = server.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) != 0 {
		t.Errorf("%d connections are left", len(d.open))
	}
}
