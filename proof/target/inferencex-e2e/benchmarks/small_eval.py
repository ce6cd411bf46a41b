"""A small real eval over the running server: capitals, asked with three examples; results in lm-eval's shape."""

import json
import math
import os
import time
import urllib.request
from pathlib import Path

EXAMPLES = (("Japan", "Tokyo"), ("Italy", "Rome"), ("Egypt", "Cairo"))
QUESTIONS = {
    "France": "Paris", "Germany": "Berlin", "Spain": "Madrid", "Portugal": "Lisbon", "Greece": "Athens",
    "Russia": "Moscow", "China": "Beijing", "India": "New Delhi", "Canada": "Ottawa", "Austria": "Vienna",
    "Sweden": "Stockholm", "Norway": "Oslo", "Finland": "Helsinki", "Denmark": "Copenhagen", "Poland": "Warsaw",
    "Hungary": "Budapest", "Ireland": "Dublin", "Cuba": "Havana", "Peru": "Lima", "Iran": "Tehran",
    "Iraq": "Baghdad", "Kenya": "Nairobi", "Turkey": "Ankara", "Thailand": "Bangkok",
}  # fmt: skip


def prompt(country):
    shots = "".join(f"Question: What is the capital of {name}?\nAnswer: {city}\n" for name, city in EXAMPLES)
    return f"{shots}Question: What is the capital of {country}?\nAnswer:"


def ask(url, text):
    body = {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 8,
        "temperature": 0,
        "stop": ["\n"],
    }
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  (the server of this job, on loopback)
        return json.load(answer)["choices"][0]["message"]["content"]


def share(hits):
    """Mean and standard error of a list of booleans."""
    mean = sum(hits) / len(hits)
    return mean, math.sqrt(mean * (1 - mean) / len(hits))


def main():
    folder = Path(os.environ["RESULT_DIR"], "eval")
    folder.mkdir(parents=True, exist_ok=True)
    url = f"http://127.0.0.1:{os.environ['PORT']}/v1/chat/completions"
    samples = []
    for country, city in QUESTIONS.items():
        answer = ask(url, prompt(country))
        strict = answer.strip().rstrip(".").lower() == city.lower()
        samples.append(
            {
                "doc": country,
                "target": city,
                "resps": [answer],
                "strict": strict,
                "flexible": city.lower() in answer.lower(),
            }
        )
    strict, strict_error = share([item["strict"] for item in samples])
    flexible, flexible_error = share([item["flexible"] for item in samples])
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S", time.gmtime())
    results = {
        "results": {
            "capitals": {
                "alias": "capitals",
                "exact_match,strict-match": strict,
                "exact_match_stderr,strict-match": strict_error,
                "exact_match,flexible-extract": flexible,
                "exact_match_stderr,flexible-extract": flexible_error,
            }
        },
        "configs": {"capitals": {"task": "capitals", "metric_list": [{"metric": "exact_match"}]}},
        "n-samples": {"capitals": {"original": len(samples), "effective": len(samples)}},
        "model_name": os.environ["MODEL_NAME"],
    }
    (folder / f"results_{stamp}.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    lines = "".join(json.dumps(item, sort_keys=True) + "\n" for item in samples)
    (folder / f"samples_capitals_{stamp}.jsonl").write_text(lines)
    print(f"capitals: strict {strict:.4f}, flexible {flexible:.4f}, n {len(samples)}")


if __name__ == "__main__":
    main()
