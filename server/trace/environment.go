package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Variables of the environment that are looked at here; the SDK reads the others.
const (
	disabledName = "OTEL_SDK_DISABLED"
	exporterName = "OTEL_TRACES_EXPORTER"
	endpointName = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesName   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	protocolName = "OTEL_EXPORTER_OTLP_PROTOCOL"
	ownProtocol  = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	onlyProtocol = "http/protobuf"
)

// wanted reports whether the environment asks for traces. What it asks for and cannot
// have is an error: the SDK would send to a place of its own choice.
func wanted() (bool, error) {
	exporter := os.Getenv(exporterName)
	endpoint := cmp.Or(os.Getenv(tracesName), os.Getenv(endpointName))
	switch {
	case strings.EqualFold(os.Getenv(disabledName), "true"), exporter == "none":
		return false, nil
	case exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("%s is %q: otlp and none are known", exporterName, exporter)
	}
	if protocol := cmp.Or(os.Getenv(ownProtocol), os.Getenv(protocolName), onlyProtocol); protocol != onlyProtocol {
		return false, fmt.Errorf("%s is %q: only %s is spoken", protocolName, protocol, onlyProtocol)
	}
	u, err := url.Parse(endpoint)
	if endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		// Not quoted: there may be a password in it.
		return false, errors.New("the endpoint of traces is no URL such as http://127.0.0.1:4318")
	}
	return true, nil
}

// teller says once that spans do not arrive, and once that they do again.
type teller struct {
	sdktrace.SpanExporter
	log *slog.Logger

	mu   sync.Mutex // held to read and write last
	last string
}

func (t *teller) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := t.SpanExporter.ExportSpans(ctx, spans)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil && t.last == "":
		t.log.Warn("traces are not taken, and are lost", "error", err)
		t.last = err.Error()
	case err == nil && t.last != "":
		t.log.Info("traces are taken again")
		t.last = ""
	}
	return nil // it is said
}
