// A witness of one log, as others have written it: that of transparency-dev, with its HTTP handler.
//
// `LOG-KEY LABEL NAME [mldsa]`: it makes a key of this name, listens on a free port, prints its line
// in a policy, and ends when its input does.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	f_note "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	logKey, err := note.NewVerifier(os.Args[1])
	check(err)
	signer, key, err := makeKey(os.Args[3], len(os.Args) > 4)
	check(err)
	cosigner, err := witness.New(context.Background(), witness.Opts{
		Persistence: inmemory.New(),
		Signers:     []note.Signer{signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			return logKey, origin == logKey.Name(), nil
		},
	})
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Printf("witness %s %s http://%s\n", os.Args[2], key, listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	http.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(cosigner).AddCheckpoint)
	check(http.Serve(listener, nil))
}

// makeKey returns a signer of cosignatures and its verifier key.
func makeKey(name string, mldsa bool) (note.Signer, string, error) {
	if mldsa {
		private, public, err := f_note.GenerateMLDSAKey(name)
		if err != nil {
			return nil, "", err
		}
		signer, err := f_note.NewMLDSASigner(private)
		return signer, public, err
	}
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return nil, "", err
	}
	public, err = f_note.VKeyToCosignatureV1(public)
	if err != nil {
		return nil, "", err
	}
	signer, err := f_note.NewSignerForCosignatureV1(private)
	return signer, public, err
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
