package serving

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/writ-policy/writ/tests/process"
)

// encrypted is a client that accepts the certificate of a test.
var encrypted = &http.Client{Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // of this test
}}

// schemeOf is that of the address of a server with some arguments.
func schemeOf(args []string) string {
	if slices.Contains(args, "--tls-cert") {
		return "https://"
	}
	return "http://"
}

// certificate writes a certificate for itself and its key, and returns the flags for them.
func certificate(t *testing.T) []string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "writ"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for flag, block := range map[string]*pem.Block{"--tls-cert": {Type: "CERTIFICATE", Bytes: der}, "--tls-key": {Type: "PRIVATE KEY", Bytes: secret}} {
		path := filepath.Join(t.TempDir(), "tls.pem")
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, flag, path)
	}
	return args
}

// flood is a connection that breaks the rules of HTTP/2.
type flood struct {
	*http2.Framer
	net.Conn
	grpc   bool
	block  bytes.Buffer
	coder  *hpack.Encoder
	stream uint32
	sent   *atomic.Int64
}

// headers returns the block of a request with more headers.
func (f *flood) headers(more ...hpack.HeaderField) []byte {
	f.block.Reset()
	path := "/v1/decisions/access"
	if f.grpc {
		path = "/envoy.service.auth.v3.Authorization/Check"
		more = append(more, hpack.HeaderField{Name: "content-type", Value: "application/grpc"}, hpack.HeaderField{Name: "te", Value: "trailers"})
	}
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "127.0.0.1"}, {Name: ":path", Value: path},
	}, more...) {
		_ = f.coder.WriteField(h)
	}
	return bytes.Clone(f.block.Bytes())
}

// open begins a request, whose body follows unless it is whole.
func (f *flood) open(block []byte, isWhole, endsHeaders bool) error {
	f.stream += 2
	f.sent.Add(1)
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: f.stream, BlockFragment: block, EndStream: isWhole, EndHeaders: endsHeaders})
}

// floods send until an error. Each is called again, on its connection.
var floods = map[string]func(f *flood) error{
	"rapid reset": func(f *flood) error {
		if err := f.open(f.headers(), false, true); err != nil {
			return err
		}
		return f.WriteRSTStream(f.stream, http2.ErrCodeCancel)
	},
	"continuation": func(f *flood) error {
		if err := f.open(f.headers(), false, false); err != nil {
			return err
		}
		for {
			f.sent.Add(1)
			if err := f.WriteContinuation(f.stream, false, bytes.Repeat([]byte("\x00\x01a\x01b"), 3000)); err != nil {
				return err
			}
		}
	},
	"empty continuation": func(f *flood) error {
		if err := f.open(f.headers(), false, false); err != nil {
			return err
		}
		for {
			f.sent.Add(1)
			if err := f.WriteContinuation(f.stream, false, nil); err != nil {
				return err
			}
		}
	},
	"header bomb": func(f *flood) error {
		// One header of the table, four thousand times.
		large := hpack.HeaderField{Name: "x-large", Value: strings.Repeat("a", 3000)}
		return f.open(f.headers(slices.Repeat([]hpack.HeaderField{large}, 4000)...), true, true)
	},
	"many streams":   func(f *flood) error { return f.open(f.headers(), false, true) },
	"whole requests": func(f *flood) error { return f.open(f.headers(), true, true) },
	"slow headers":   func(f *flood) error { return f.slowly(f.open(f.headers(), false, false)) },
	"slow body":      func(f *flood) error { return f.slowly(f.open(f.headers(), false, true)) },
	"pings":          func(f *flood) error { f.sent.Add(1); return f.WritePing(false, [8]byte{1}) },
	"settings": func(f *flood) error {
		f.sent.Add(1)
		return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 7})
	},
	"no window":       func(f *flood) error { return f.withoutWindow() },
	"empty data":      func(f *flood) error { return f.emptyData() },
	"window overflow": func(f *flood) error { f.sent.Add(1); return f.WriteWindowUpdate(0, 1<<31-1) },
	"priorities": func(f *flood) error {
		f.stream += 2
		f.sent.Add(1)
		return f.WritePriority(f.stream, http2.PriorityParam{StreamDep: f.stream - 2})
	},
	"bytes at random": func(f *flood) error {
		f.sent.Add(1)
		_, err := io.CopyN(f.Conn, rand.Reader, 1<<14)
		return err
	},
	"frames of no type": func(f *flood) error { f.sent.Add(1); return f.WriteRawFrame(200, 0, 0, make([]byte, 1<<14)) },
}

func (f *flood) slowly(err error) error {
	if err == nil {
		time.Sleep(100 * time.Millisecond) // a client is slow by itself
	}
	return err
}

func (f *flood) withoutWindow() error {
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}); err != nil {
		return err
	}
	return f.open(f.headers(), true, true)
}

func (f *flood) emptyData() error {
	if f.stream == 0 || f.stream == ^uint32(0) {
		return f.open(f.headers(), false, true)
	}
	f.sent.Add(1)
	return f.WriteData(f.stream, false, nil)
}

// run floods an address by connections until the context ends. Half of them read.
func run(ctx context.Context, clients *sync.WaitGroup, address string, grpc bool, send func(*flood) error, sent *atomic.Int64) {
	for i := range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				connection, err := dial(ctx, address, grpc)
				if err != nil {
					continue // the bound of connections
				}
				floodOne(ctx, connection, grpc, i%2 == 0, send, sent)
			}
		})
	}
}

func dial(ctx context.Context, address string, grpc bool) (net.Conn, error) {
	if grpc {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}} //nolint:gosec // of this test
	return dialer.DialContext(ctx, "tcp", address)
}

func floodOne(ctx context.Context, connection net.Conn, grpc, reads bool, send func(*flood) error, sent *atomic.Int64) {
	defer connection.Close()
	stop := context.AfterFunc(ctx, func() { connection.Close() })
	defer stop()
	f := &flood{Framer: http2.NewFramer(connection, connection), Conn: connection, grpc: grpc, stream: ^uint32(0), sent: sent}
	f.coder = hpack.NewEncoder(&f.block)
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil || f.WriteSettings() != nil {
		return
	}
	if reads {
		go func() { _, _ = io.Copy(io.Discard, connection) }()
	}
	for send(f) == nil && ctx.Err() == nil {
	}
}

// Whatever connections of HTTP/2 send, to the endpoints and to the one of gRPC, memory and
// goroutines stay within bounds, others are answered, and afterwards all is as before.
func TestFloodsOfHTTP2(t *testing.T) {
	const policies = "../../examples/policies"
	kinds := map[string][]func(*flood) error{"all together": nil}
	for name, send := range floods {
		kinds[name], kinds["all together"] = []func(*flood) error{send}, append(kinds["all together"], send)
	}
	for name, sends := range kinds {
		t.Run(name, func(t *testing.T) {
			if name != "all together" && !*attackEach {
				t.Skip("with -each")
			}
			plain, secure := process.FreeAddress(t), ""
			address, envoy := startProcess(t, "--policies", policies, "--envoy-listen", plain)
			secure, web := startProcess(t, append(certificate(t), "--policies", policies)...)
			before := []int{memoryOf(t, envoy, "VmRSS"), memoryOf(t, web, "VmRSS"), goroutines(t, "http://"+address), goroutines(t, "https://"+secure)}
			ctx, stop := context.WithTimeout(t.Context(), *attackTime)
			defer stop()
			var clients sync.WaitGroup
			var sent atomic.Int64
			for _, send := range sends {
				run(ctx, &clients, plain, true, send, &sent)
				run(ctx, &clients, secure, false, send, &sent)
			}
			answered := 0
			clients.Go(func() { answered = askEncrypted(t, ctx, secure) })
			checked := askMeanwhile(t, ctx, address, plain)
			clients.Wait()
			growth := []int{memoryOf(t, envoy, "VmHWM") - before[0], memoryOf(t, web, "VmHWM") - before[1]}
			t.Logf("%d frames; %d and %d others answered; %d and %d MiB more", sent.Load(), answered, checked, growth[0]>>20, growth[1]>>20)
			if slices.Max(growth) > maxGrowth {
				t.Errorf("the memory grew by %d MiB, want at most %d", slices.Max(growth)>>20, maxGrowth>>20)
			}
			calm(t, "http://"+address, before[2])
			calm(t, "https://"+secure, before[3])
		})
	}
}

// askEncrypted asks for a decision over TLS, a few times or until the context ends.
func askEncrypted(t *testing.T, ctx context.Context, address string) (answered int) {
	t.Helper()
	for range 5 {
		answer, err := encrypted.Post("https://"+address+"/v1/decisions/access", "application/json", strings.NewReader(`{"user":"Clark","verb":"get","resource":"pods","namespace":"hammer"}`))
		if err != nil {
			t.Errorf("a decision over TLS: %v", err)
			return answered
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), `"allowed":true`) {
			t.Errorf("a decision over TLS: got %d %s, %v", answer.StatusCode, body, err)
		}
		if answered++; ctx.Err() != nil {
			break
		}
	}
	return answered
}

// goroutines returns how many the server has, as its metrics state.
func goroutines(t *testing.T, url string) (count int) {
	t.Helper()
	answer, err := encrypted.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\ngo_goroutines ")
	if _, err := fmt.Sscan(rest, &count); err != nil {
		t.Fatalf("go_goroutines: %v", err)
	}
	return count
}

// calm waits until the server has about as many goroutines as before.
func calm(t *testing.T, url string, before int) {
	t.Helper()
	const few = 20
	for end := time.Now().Add(patience); ; {
		now := goroutines(t, url)
		if now <= before+few {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d goroutines are left, before there were %d", now, before)
			return
		}
	}
}
