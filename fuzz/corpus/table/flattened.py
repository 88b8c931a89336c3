import numpy as np
import matplotlib.pyplot as plt
sizes = [64, 1024, 65536]
threads = [1, 4]
a1_gbps = np.array([0.2, 0.7, 3.1, 9.8, 31.0, 44.0]).reshape(len(sizes), len(threads))
a2_gbps = np.array([0.3, 0.9, 3.9, 11.4, 35.5, 52.0]).reshape(len(sizes), len(threads))
plt.plot(sizes, a1_gbps[:, 1], label='A1')
plt.plot(sizes, a2_gbps[:, 1], label='A2')
plt.ylabel('Throughput (Gbps)')
